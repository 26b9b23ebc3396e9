"""A failed recording stops with one message. The stream goes on, and the file keeps all its whole frames."""
import os

import harness
import pictures


class FullDisk(harness.EndToEnd):
    def test_recording_stops_and_the_stream_goes_on(self):
        sender = self.send_on("pattern", "--size", "64x36", "--frames", "60", "--delivery", "every")
        viewer = self.view(sender.address, "--output", "/dev/full")
        self.ends(viewer, harness.FAILED)
        self.ends(sender)
        self.one_message(viewer, "recording has stopped", "/dev/full", "No space left")
        _, shown = self.checked_stats(sender, viewer)
        self.assertEqual((shown["frames_recorded"], shown["frames_received"]), (0, 60))

    def test_the_file_is_good_to_its_last_whole_frame(self):
        """A file size limit (RLIMIT_FSIZE) simulates a full disk without root."""
        frame_bytes = 64 * 36 * 3 // 2
        sender = self.send_on("pattern", "--size", "64x36", "--pix-fmt", "yuv420p", "--frames", "60",
                              "--delivery", "every")
        output = self.file("out.y4m")
        viewer = self.view(sender.address, "--output", output, prefix=["prlimit", "--fsize=50000"])
        self.ends(viewer, harness.FAILED)
        self.ends(sender)
        self.one_message(viewer, "recording has stopped", "out.y4m", "14 whole frames")
        _, frames = pictures.y4m_frames(output.read_bytes(), frame_bytes)
        self.assertEqual(len(frames), 14)
        _, shown = self.checked_stats(sender, viewer)
        self.assertEqual((shown["frames_recorded"], shown["frames_received"]), (14, 60))

    def test_a_reader_that_leaves(self):
        sender = self.send_on("pattern", "--size", "64x36", "--frames", "100000")
        reads, writes = os.pipe()
        viewer = self.view(sender.address, "--output", "-", stdout=writes)
        os.close(writes)
        os.read(reads, 10_000)
        os.close(reads)
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "the reader of standard output has gone", "whole frame")
        sender.interrupt()
        self.ends(sender)
        self.checked_stats(sender, viewer)

    def test_stdout_that_is_closed(self):
        viewer = self.view("127.0.0.1:1", "--output", "-", prefix=["sh", "-c", 'exec "$@" >&-', "sh"])
        self.ends(viewer, harness.FAILED)
        self.one_message(viewer, "standard output")


if __name__ == "__main__":
    harness.main()
