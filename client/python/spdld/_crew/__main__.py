"""The program that the client library starts for a crew: `python -m spdld._crew`."""
from spdld._crew.process import main

main()
