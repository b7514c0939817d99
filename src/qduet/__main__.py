"""``python -m qduet``: the command ``qduet``."""

import sys

from qduet.cli import main

sys.exit(main())
