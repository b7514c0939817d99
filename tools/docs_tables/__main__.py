"""``python -m docs_tables``: the generated parts of the documentation, made or checked."""

import argparse
import sys
from pathlib import Path

from docs_tables.documents import DOCUMENTS, draw, filled
from docs_tables.tables import tables
from qduet.core.errors import InputError
from qduet.core.files import write_atomically


def main(arguments: list[str] | None = None) -> int:
    """Writes the tables and pictures, or says which tables are stale."""
    parser = argparse.ArgumentParser(prog="python -m docs_tables", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository (default: .)")
    parser.add_argument("--check", action="store_true", help="write nothing; code 1 if stale")
    args = parser.parse_args(arguments)
    stale = []
    try:
        content = tables(args.root / "results")
        for document in (args.root / name for name in DOCUMENTS):
            text = document.read_text(encoding="utf-8")
            new = filled(text, content)
            if new != text:
                stale.append(document)
                if not args.check:
                    write_atomically(document, new.encode())
        drawn = [] if args.check else draw(args.root)
    except (InputError, OSError) as error:
        print(f"docs_tables: {error}", file=sys.stderr)
        return 2
    for path in [*stale, *drawn]:
        print(f"{path} {'is stale' if args.check else 'written'}")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
