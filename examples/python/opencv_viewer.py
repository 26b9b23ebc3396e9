#!/usr/bin/env python3
"""Shows a stream in a window of OpenCV, or writes its first frame: opencv_viewer.py big/camera [--png FILE]

Q ends it.
"""
import argparse
import sys

import cv2
import framewire

CONVERSIONS = {"rgba": cv2.COLOR_RGBA2BGR, "rgb0": cv2.COLOR_RGBA2BGR, "bgra": cv2.COLOR_BGRA2BGR,
               "bgr0": cv2.COLOR_BGRA2BGR, "rgb24": cv2.COLOR_RGB2BGR, "gray8": cv2.COLOR_GRAY2BGR}


def to_bgr(frame):
    """The frame's picture as OpenCV has it. It reads the frame where it lies."""
    if frame.pixel_format == "bgr24":
        return frame.numpy(writable=True)
    if frame.pixel_format == "nv12":
        luma, chroma = (plane.numpy() for plane in frame.planes)
        return cv2.cvtColorTwoPlane(luma, chroma, cv2.COLOR_YUV2BGR_NV12)
    if frame.pixel_format == "rgba+grayf32le":
        return cv2.cvtColor(frame.planes[0].numpy(), cv2.COLOR_RGBA2BGR)
    if frame.pixel_format in CONVERSIONS:
        return cv2.cvtColor(frame.numpy(), CONVERSIONS[frame.pixel_format])
    sys.exit(f"opencv_viewer.py: it does not convert {frame.pixel_format}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", help="HOST[:PORT][/STREAM]")
    parser.add_argument("--png", metavar="FILE", help="write the first frame to FILE and end")
    arguments = parser.parse_args()
    with framewire.receive(arguments.source) as receiver:
        for frame in receiver:
            with frame:
                picture = to_bgr(frame)
            if arguments.png:
                if not cv2.imwrite(arguments.png, picture):
                    sys.exit(f"opencv_viewer.py: cannot write {arguments.png}")
                return
            cv2.imshow("framewire", picture)
            if cv2.waitKey(1) == ord("q"):
                return


if __name__ == "__main__":
    try:
        main()
    except (framewire.Error, KeyboardInterrupt) as error:
        sys.exit(f"opencv_viewer.py: {error}")
