// Search from disk. A page of file:// may start no worker, so the theme's search looks for
// `IFrameWorker`: the same interface, with the script in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      const load = (src) =>
        new Promise((resolve, reject) => {
          const script = this.inner.document.createElement("script");
          Object.assign(script, { src, onload: resolve, onerror: reject });
          this.inner.document.body.append(script);
        });
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = async (...urls) => {
        for (const each of urls) await load(each);
      };
      this.ready = load(url);
    }
    async postMessage(data) {
      await this.ready;
      this.inner.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
