// How a decoder uses frame buffers that it does not own.
#include "media/picture_buffers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/host_block.hpp"
#include "tests/media/media_files.hpp"

namespace framewire::libav {
namespace {

using namespace test;

/// Has so many buffers that none is used twice. So each still holds its first content at the end, unless something
/// wrote to it.
class Buffers final : public PictureMemory, public std::enable_shared_from_this<Buffers> {
 public:
  Buffers(std::size_t count, std::size_t bytes) : block_(HostBlock::create_private("buffers", count * bytes)) {
    for (std::size_t i = 0; i < count; ++i) {
      buffers_.push_back({block_->bytes().subspan(i * bytes, bytes), {}, static_cast<std::uint32_t>(i)});
    }
  }
  Buffer* take(std::uint64_t size_bytes) noexcept override {
    if (taken_ == buffers_.size() || buffers_.at(taken_).bytes.size() < size_bytes) {
      return nullptr;
    }
    buffers_.at(taken_).owner = shared_from_this();
    return &buffers_.at(taken_++);
  }
  void released(Buffer& /*buffer*/) noexcept override { ++released_; }
  [[nodiscard]] const Buffer* find(const std::byte* bytes) const noexcept override {
    const auto found = std::ranges::find_if(buffers_, [&](const Buffer& buffer) {
      return bytes >= buffer.bytes.data() && bytes < buffer.bytes.data() + buffer.bytes.size();
    });
    return found != buffers_.end() ? &*found : nullptr;
  }
  [[nodiscard]] std::span<const std::byte> bytes_of(std::uint32_t number) const { return buffers_.at(number).bytes; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] std::size_t released() const noexcept { return released_; }

 private:
  std::shared_ptr<HostBlock> block_;
  std::vector<Buffer> buffers_;
  std::size_t taken_ = 0;
  std::size_t released_ = 0;
};

/// Decodes a file on one thread, and returns the buffer of each frame.
std::vector<PlacedPicture> decode(const std::string& file, PictureBuffers& buffers, const FrameLayout& packed) {
  AVFormatContext* raw = nullptr;
  EXPECT_EQ(avformat_open_input(&raw, file.c_str(), nullptr, nullptr), 0);
  const FormatContext context(raw);
  EXPECT_GE(avformat_find_stream_info(raw, nullptr), 0);
  const AVCodecParameters& parameters = *context->streams[0]->codecpar;
  const AVCodec* codec = avcodec_find_decoder(parameters.codec_id);
  DecoderOwner owner{.buffers = &buffers};
  const CodecContext decoder(avcodec_alloc_context3(codec));
  avcodec_parameters_to_context(decoder.get(), &parameters);
  decoder->opaque = &owner;
  decoder->thread_count = 1;
  PictureBuffers::attach(*decoder);
  EXPECT_EQ(avcodec_open2(decoder.get(), codec, nullptr), 0);
  std::vector<PlacedPicture> placed;
  const Packet packet = make_packet();
  const Frame frame = make_frame();
  for (bool is_over = false; !is_over;) {
    is_over = av_read_frame(context.get(), packet.get()) < 0;
    avcodec_send_packet(decoder.get(), is_over ? nullptr : packet.get());
    av_packet_unref(packet.get());
    while (avcodec_receive_frame(decoder.get(), frame.get()) == 0) {
      if (const auto one = buffers.find(*frame, packed)) {
        placed.push_back(*one);
      }
    }
  }
  return placed;
}

/// Some codecs build the next frame in the buffer of the previous one if they may.
TEST(PictureBuffers, APictureThatIsDecodedIsNotChangedAnyMore) {
  const TemporaryFolder folder;
  for (const auto& [name, encode, format] :
       {std::tuple{"runs.mov", "-c:v qtrle -pix_fmt rgb24", PixelFormat::rgb24},
        std::tuple{"screen.flv", "-c:v flashsv -pix_fmt bgr24", PixelFormat::bgr24},
        std::tuple{"film.mkv", "-c:v libx264 -bf 3 -refs 4 -pix_fmt yuv420p", PixelFormat::yuv420p}}) {
    const std::string file = folder.file(name);
    ffmpeg(test_pictures("640", "360", 25, 12) + encode + " " + file);
    const FrameLayout packed = packed_layout(format, 640, 360);
    const auto memory = std::make_shared<Buffers>(64, 1 << 20);
    PictureBuffers buffers;
    buffers.set_memory(memory);
    const std::vector<PlacedPicture> placed = decode(file, buffers, packed);
    ASSERT_EQ(placed.size(), 12U) << name;
    std::vector<std::byte> all;
    for (const PlacedPicture& one : placed) {
      const std::span<const std::byte> bytes = memory->bytes_of(one.number);
      for (std::uint32_t i = 0; i < packed.plane_count; ++i) {
        const PlaneLayout& plane = one.layout.planes.at(i);
        for (std::uint32_t row = 0; row < plane.rows; ++row) {
          const auto from = bytes.subspan(plane.offset_bytes + std::size_t{row} * plane.pitch_bytes, plane.row_bytes);
          all.insert(all.end(), from.begin(), from.end());
        }
      }
    }
    EXPECT_TRUE(all == decoded_by_ffmpeg(folder, file, std::string(info(format).name))) << name;
    EXPECT_EQ(memory->released(), memory->taken()) << name << ": with the decoder everything comes back";
  }
}

}  // namespace
}  // namespace framewire::libav
