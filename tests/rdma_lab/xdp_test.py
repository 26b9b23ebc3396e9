"""framewire bench over AF_XDP on Debian's kernel, and the article's table where there is an RDMA device."""
import json
import pathlib
import xml.etree.ElementTree

import lab
from lab import harness

LABELS = {"socket veth", "udp veth/32", "xdp generic/32 copy", "xdp native/32 copy"}


class Xdp(lab.RdmaTest):
    def bench(self, *options) -> list[dict]:
        with self.file("stdout").open("w+b") as stdout:
            program = self.start(harness.BIN / "framewire-bench", *options, "--json", stdout=stdout)
            self.ends(program, seconds=120 * harness.TIMEOUT_SCALE)
            harness.wait_until(lambda: program.family() == [], "its servers to go with it")
        return json.loads(self.file("stdout").read_text())["results"]

    def test_a_hundred_thousand_messages_arrive_once_and_whole(self):
        rows = self.bench("--transport", "xdp", "--operation", "stream", "--message-bytes", "64", "--count", "100000",
                          "--batch", "32", "--touch")
        self.assertEqual({row["label"] for row in rows}, LABELS)
        for row in rows:
            self.assertEqual(row["count"], 100000)
            if row["transport"] != "socket":
                self.assertEqual((row["messages_arrived"], row["frames_lost"]), (100000, 0), row)

    def test_the_article_has_every_technology(self):
        plot = pathlib.Path(self.file("rates.svg"))
        rows = self.bench("article", "--count", "300", "--plot", plot)
        self.assertLessEqual({"socket", "local", "tcp", "rdma", "verbs", "udp", "xdp"},
                             {row["transport"] for row in rows})
        texts = {one.text for one in xml.etree.ElementTree.parse(plot).iter("{http://www.w3.org/2000/svg}text")}
        self.assertLessEqual({"rdma", "verbs", *LABELS}, texts)


if __name__ == "__main__":
    harness.main()
