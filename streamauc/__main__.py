"""``python -m streamauc`` is the command line."""

from streamauc.cli import main

if __name__ == "__main__":
    main()
