"""natively.py [COMMAND [ARGUMENT…]]: runs a test of the lab on this machine.

The test uses the first RDMA port that framewire doctor finds usable. Without COMMAND it says which
that is. Status 77, with the reason, where there is none.
"""
import json
import os
import pathlib
import subprocess
import sys

RELEASE = pathlib.Path(__file__).resolve().parents[2] / "build" / "release"
BIN = pathlib.Path(os.environ.get("FRAMEWIRE_BIN", RELEASE / "bin"))
SKIPPED = 77


def why_not(report: dict) -> str:
    """The reasons that doctor found, the most important first."""
    said = [f"{finding['name']}: {finding['value']}" for finding in report["findings"]
            if finding["area"] in ("Links", "RDMA") and finding["level"] != "ok"]
    return "; ".join(said) or "no RDMA port is active and has an IPv4 address"


def first_address(report: dict) -> str | None:
    """The IPv4 address of an interface above an active port. Tests write addresses without brackets, so not IPv6."""
    active = [port["interface"] for device in report["rdma_devices"]
              for port in device["ports"] if port["state"] == "active"]
    addresses = [address.split("/")[0] for interface in report["network"]["interfaces"] if interface["name"] in active
                 for address in interface["addresses"]]
    return next((address for address in addresses if "." in address and not address.startswith("169.254.")), None)


def main() -> int:
    said = subprocess.run([BIN / "framewire-doctor", "--json"], capture_output=True, text=True, check=False).stdout
    report = json.loads(said)
    address = first_address(report) if report["works"]["rdma"] else None
    if address is None:
        print(f"no test of the rdma link runs natively: {why_not(report)}")
        return SKIPPED
    print(f"on the RDMA device at {address}", flush=True)
    if len(sys.argv) > 1:
        os.environ["FRAMEWIRE_LAB_ADDRESS"] = address
        os.execvp(sys.argv[1], sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
