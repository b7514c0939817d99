# qduet on a CPU, with its repository: the two commands of the README.
#
#     docker build -t qduet .
#     docker run --rm -v "$PWD/out:/qduet/out" qduet                 # make reproduce
#     docker run --rm qduet make test
#     docker run --rm -v "$PWD/out:/qduet/out" qduet qduet watch rdq Breakout
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends make git chromium \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /qduet
COPY . .
RUN make .venv/.installed-dev
ENV PATH=/qduet/.venv/bin:$PATH
CMD ["make", "reproduce"]
