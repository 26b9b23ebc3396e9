"""What the library tells in structures, as named tuples. The extension makes them."""
import typing


class Format(typing.NamedTuple):
    """The format of a frame. The numbers are FFmpeg's; those of colours are of ITU-T H.273."""
    pixel_format: str  # FFmpeg's name, such as "nv12"; or "bytes"
    width: int  # pixels; of "bytes" bytes
    height: int
    size_bytes: int  # of a frame, with all padding
    colour_matrix: int  # 0: RGB, 2: unspecified
    colour_range: int  # 1: limited, 2: full, 0: unspecified
    colour_transfer: int  # 2: unspecified
    colour_primaries: int  # 2: unspecified
    chroma_location: int  # 0: unspecified
    alpha_mode: int  # 0: unspecified, 1: premultiplied, 2: straight
    field_order: int  # 0: unspecified, 1: progressive, others: interlaced
    sample_aspect: tuple[int, int]  # a pixel's width and height
    frame_rate: tuple[int, int]  # frames per second, as numerator and denominator; (0, 1): unknown


class ReceiverCounts(typing.NamedTuple):
    """What a receiver has counted."""
    frames_received: int
    bytes_received: int
    frames_lost: int  # that the sender has sent, and that did not arrive
    frames_skipped: int  # that the sender dropped for newer ones
    sessions: int
    messages_dropped: int  # of the sender's, because nobody took them
    frames_held: int  # by this program, now
    slots: int  # so many it may hold; 0 before the first session


class StreamCounts(typing.NamedTuple):
    """What a stream has counted."""
    frames_published: int
    frames_dropped: int  # by drop(), and slots of an earlier format
    viewers: int  # that watch now
    slots_in_use: int  # claimed, kept, or held by viewers
    frames_sent: int  # of the sessions that have ended, as the next ones
    frames_skipped: int  # for newer ones
    frames_lost: int  # that the viewer has not reported as received
    sessions: int
    messages_sent: int
    messages_dropped: int
    events_dropped: int
