"""The times that framewire bench prints are consistent. The tests compare times, so they run alone."""
import json

import harness
from bench_programs import BenchPrograms


class BenchTimes(BenchPrograms):
    def test_few_messages_are_timed_as_many(self):
        """Set-up counts for no message, with sockets and with links; a rate is n messages over the time of n."""
        for count in (1, 2):
            rows = json.loads(self.bench("--message-bytes", "33177600", "--operation", "stream", "--count", str(count),
                                         "--json"))["results"]
            self.assertEqual({row["transport"]: row["count"] for row in rows},
                             {"socket": count, "local": count, "tcp": count})
            for row in rows:
                self.assertGreaterEqual(row["seconds"], 0.999e-6 * row["latency_us"]["max"] / 1.02,
                                        "the first message's whole way lies in it")
                self.assertLessEqual(row["seconds"], row["client_seconds"], row)
                self.assertEqual(row["seconds"], row["server_seconds"], row)
        for row in json.loads(self.bench("--reverse", "--message-bytes", "1M", "--count", "1", "--json"))["results"]:
            self.assertGreaterEqual(row["seconds"], 0.97e-6 * row["one_way_us"]["max"], row)
            self.assertEqual((row["client_seconds"], row["server_seconds"]), (row["seconds"], None),
                             "the server is not told of the last arrival")
        rows = json.loads(self.bench("--message-bytes", "33177600", "--slots", "16", "--operation", "latency",
                                     "--count", "1", "--repeat", "3", "--json"))["results"]
        for row in rows:
            # Setting up this half gigabyte takes hundreds of milliseconds.
            self.assertLess(row["latency_us"]["max"], 150e3 * harness.TIMEOUT_SCALE, row)

    def test_a_given_rate_over_every_transport(self):
        rows = json.loads(self.bench("--rate", "50", "--count", "11", "--operation", "latency", "--message-bytes", "64",
                                     "--json"))["results"]
        self.assertEqual({row["transport"] for row in rows}, {"socket", "local", "tcp"})
        for row in rows:
            # The client's clock and its schedule start at the same moment.
            self.assertGreaterEqual(row["client_seconds"], 10 / 50, row)


if __name__ == "__main__":
    harness.main()
