"""``python -m callbreak_env`` is the command ``callbreak``."""

import sys

from callbreak_env.cli import main

sys.exit(main())
