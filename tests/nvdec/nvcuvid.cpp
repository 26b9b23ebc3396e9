// A libnvcuvid.so.1 without a GPU. It checks what libav gives it, as the library does, and writes a pattern in place of
// the picture (pattern.hpp). Its pictures come late, on the stream that libav names, and are poison until then. What is
// not filled in its structures is of no use here; names and places are those of NVIDIA's Video Codec SDK.
#include "tests/nvdec/nvcuvid.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/cuda/machine.hpp"
#include "tests/nvdec/pattern.hpp"

namespace framewire::test::nvcuvid_stand_in {

namespace {

using cuda_stand_in::guarded;
using cuda_stand_in::invalid_handle;
using cuda_stand_in::invalid_value;
using cuda_stand_in::Machine;
using cuda_stand_in::not_supported;
using cuda_stand_in::ok;
using cuda_stand_in::poison;

/// CUVIDDECODECAPS.
struct Capabilities {
  int codec;
  int chroma_format;
  unsigned bits_minus_8;
  std::array<unsigned, 3> reserved;
  std::uint8_t is_supported;
  std::uint8_t decoder_count;
  std::uint16_t output_formats;
  unsigned max_width;
  unsigned max_height;
  unsigned max_macroblocks;
  std::uint16_t min_width;
  std::uint16_t min_height;
};

enum class Codec : int { h264 = 4, hevc = 8 };
enum class OutputFormat : int { nv12 = 0, p016 = 1, yuv444 = 2, yuv444_16_bit = 3 };

/// CUVIDDECODECREATEINFO.
struct CreateInfo {
  unsigned long width;
  unsigned long height;
  unsigned long decode_surfaces;
  Codec codec;
  int chroma_format;
  std::array<unsigned long, 6> unused;
  std::array<short, 4> display_area;
  OutputFormat output_format;
  int deinterlace_mode;
  unsigned long target_width;
  unsigned long target_height;
  unsigned long output_surfaces;
};
static_assert(offsetof(CreateInfo, output_format) == 88);
static_assert(offsetof(CreateInfo, output_surfaces) == 112);

/// CUVIDPICPARAMS.
struct PictureParameters {
  std::array<int, 2> size_in_macroblocks;
  int surface;
  std::array<int, 3> fields;
  unsigned bitstream_bytes;
  const std::uint8_t* bitstream;
  unsigned slice_count;
  const unsigned* slice_offsets;
  std::array<unsigned, 32> unused;
  std::array<unsigned, 1024> of_codec;
};
static_assert(offsetof(PictureParameters, of_codec) == 184);

/// CUVIDPROCPARAMS.
struct ProcessingParameters {
  std::array<unsigned, 14> unused;
  cuda::Stream output_stream;
};
static_assert(offsetof(ProcessingParameters, output_stream) == 56);

struct Decoder {
  CreateInfo info{};
  std::vector<unsigned> numbers;             // of the picture in each surface
  std::vector<bool> has_picture;             // a surface
  std::map<cuda::Address, unsigned> mapped;  // and of which surface
};

struct State {
  bool is_supported = true;
  unsigned max_width = 4096;
  std::size_t most_mapped = 0;
  std::size_t decoded = 0;
  std::size_t surfaces = 0;
  std::map<const Decoder*, std::unique_ptr<Decoder>> decoders;
};

/// The machine's mutex guards it.
State& state() {
  static auto* state = new State;  // libav may call until the process ends
  return *state;
}

bool is_16_bit(OutputFormat format) {
  return format == OutputFormat::p016 || format == OutputFormat::yuv444_16_bit;
}

/// Where the picture is in the order of display, which a decoder must know for its references.
unsigned number_of(Codec codec, const PictureParameters& picture) {
  constexpr std::size_t h264_field_order_counts = 24;  // CUVIDH264PICPARAMS.CurrFieldOrderCnt, in words
  constexpr std::size_t hevc_order_count = 62;         // CUVIDHEVCPICPARAMS.CurrPicOrderCntVal
  if (codec == Codec::h264) {
    return (picture.of_codec.at(h264_field_order_counts) & 0xFFFFU) / 2;  // libav begins at 65536
  }
  return picture.of_codec.at(hevc_order_count);
}

bool begins_with_start_code(const PictureParameters& picture, unsigned offset) {
  constexpr std::array<std::uint8_t, 3> start_code{0, 0, 1};
  return offset + start_code.size() < picture.bitstream_bytes &&
         std::equal(start_code.begin(), start_code.end(), picture.bitstream + offset);
}

/// All rows of one plane. With two bytes a sample, also their width counts samples.
void write_plane(std::byte* to, std::size_t pitch, const Decoder& decoder, unsigned number, unsigned plane,
                 std::size_t width, std::size_t rows) {
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      if (is_16_bit(decoder.info.output_format)) {
        const std::uint16_t sample = decoded_10_bit(number, plane, x, y);
        std::memcpy(to + y * pitch + 2 * x, &sample, sizeof sample);
      } else {
        to[y * pitch + x] = static_cast<std::byte>(decoded_8_bit(number, plane, x, y));
      }
    }
  }
}

/// The planes lie one below the other, each with all rows of the coded picture.
void write_picture(std::byte* to, std::size_t pitch, const Decoder& decoder, unsigned number) {
  const std::size_t width = decoder.info.target_width;
  const std::size_t height = decoder.info.target_height;
  const bool is_444 =
      decoder.info.output_format == OutputFormat::yuv444 || decoder.info.output_format == OutputFormat::yuv444_16_bit;
  write_plane(to, pitch, decoder, number, 0, width, height);
  if (!is_444) {
    write_plane(to + height * pitch, pitch, decoder, number, 1, width, height / 2);
    return;
  }
  for (unsigned plane = 1; plane < 3; ++plane) {
    write_plane(to + plane * height * pitch, pitch, decoder, number, plane, width, height);
  }
}

}  // namespace

void reset() {
  Machine& machine = Machine::get();
  const std::scoped_lock lock(machine.mutex);
  state().is_supported = true;
  state().max_width = 4096;
  state().most_mapped = state().decoded = state().surfaces = 0;
  state().decoders.clear();  // of a lost GPU
}

void set_supported(bool is_supported) {
  const std::scoped_lock lock(Machine::get().mutex);
  state().is_supported = is_supported;
}

void set_max_width(unsigned width) {
  const std::scoped_lock lock(Machine::get().mutex);
  state().max_width = width;
}

std::size_t decoders() {
  const std::scoped_lock lock(Machine::get().mutex);
  return state().decoders.size();
}

std::size_t mapped_pictures() {
  const std::scoped_lock lock(Machine::get().mutex);
  std::size_t count = 0;
  for (const auto& [handle, decoder] : state().decoders) {
    count += decoder->mapped.size();
  }
  return count;
}

std::size_t most_mapped_pictures() {
  const std::scoped_lock lock(Machine::get().mutex);
  return state().most_mapped;
}

std::size_t decoded_pictures() {
  const std::scoped_lock lock(Machine::get().mutex);
  return state().decoded;
}

std::size_t surfaces() {
  const std::scoped_lock lock(Machine::get().mutex);
  return state().surfaces;
}

namespace {

cuda::Result capabilities(Capabilities* of) {
  return guarded("cuvidGetDecoderCaps", true, [&](Machine& /*machine*/) {
    of->is_supported = state().is_supported ? 1 : 0;
    of->decoder_count = 1;
    of->output_formats = 0xF;
    of->max_width = state().max_width;
    of->max_height = 4096;
    of->max_macroblocks = 65536;
    of->min_width = of->min_height = 48;
    return ok;
  });
}

cuda::Result create(Decoder** handle, const CreateInfo* info) {
  return guarded("cuvidCreateDecoder", true, [&](Machine& /*machine*/) {
    const bool is_known = info->codec == Codec::h264 || info->codec == Codec::hevc;
    if (!is_known || info->decode_surfaces == 0 || info->decode_surfaces > 32 || info->output_surfaces == 0 ||
        info->target_width % 2 != 0 || info->target_height % 2 != 0) {
      return is_known ? invalid_value : not_supported;
    }
    auto decoder = std::make_unique<Decoder>();
    decoder->info = *info;
    decoder->numbers.resize(info->decode_surfaces);
    decoder->has_picture.resize(info->decode_surfaces);
    state().surfaces = info->decode_surfaces;
    *handle = decoder.get();
    state().decoders[*handle] = std::move(decoder);
    return ok;
  });
}

cuda::Result destroy(const Decoder* decoder) {
  return guarded("cuvidDestroyDecoder", true, [&](Machine& /*machine*/) {
    const auto found = state().decoders.find(decoder);
    if (found == state().decoders.end() || !found->second->mapped.empty()) {
      return invalid_handle;
    }
    state().decoders.erase(found);
    return ok;
  });
}

/// A surface whose picture is mapped must not be used for another one.
cuda::Result decode(Decoder* decoder, const PictureParameters* picture) {
  return guarded("cuvidDecodePicture", true, [&](Machine& /*machine*/) {
    if (!state().decoders.contains(decoder)) {
      return invalid_handle;
    }
    const auto surface = static_cast<unsigned>(picture->surface);
    if (surface >= decoder->numbers.size() || picture->slice_count == 0 ||
        std::ranges::any_of(decoder->mapped, [&](const auto& one) { return one.second == surface; })) {
      return invalid_value;
    }
    for (unsigned i = 0; i < picture->slice_count; ++i) {
      if (!begins_with_start_code(*picture, picture->slice_offsets[i])) {
        return invalid_value;
      }
    }
    decoder->numbers.at(surface) = number_of(decoder->info.codec, *picture);
    decoder->has_picture.at(surface) = true;
    ++state().decoded;
    return ok;
  });
}

cuda::Result map(Decoder* decoder, int surface, cuda::Address* address, unsigned* pitch,
                 const ProcessingParameters* parameters) {
  return guarded("cuvidMapVideoFrame", true, [&](Machine& machine) {
    if (!state().decoders.contains(decoder)) {
      return invalid_handle;
    }
    const bool is_there = surface >= 0 && static_cast<std::size_t>(surface) < decoder->numbers.size() &&
                          decoder->has_picture.at(static_cast<std::size_t>(surface));
    if (!is_there || decoder->mapped.size() == decoder->info.output_surfaces ||
        !machine.streams.contains(parameters->output_stream)) {
      return invalid_value;
    }
    constexpr std::size_t alignment = 256;
    const std::size_t row_bytes = decoder->info.target_width * (is_16_bit(decoder->info.output_format) ? 2 : 1);
    const std::size_t pitch_bytes = (row_bytes + 2 * alignment - 1) / alignment * alignment;
    const std::size_t bytes = pitch_bytes * decoder->info.target_height * 3;
    *address = machine.allocate(bytes);
    if (*address == 0) {
      return cuda::Result::out_of_memory;
    }
    *pitch = static_cast<unsigned>(pitch_bytes);
    decoder->mapped[*address] = static_cast<unsigned>(surface);
    state().most_mapped = std::max(state().most_mapped, decoder->mapped.size());
    const unsigned number = decoder->numbers.at(static_cast<std::size_t>(surface));
    std::size_t offset = 0;
    std::byte* const alias = machine.find(*address, bytes, &offset)->alias;
    std::fill_n(alias, bytes, poison);
    machine.put(parameters->output_stream, [&machine, decoder, address = *address, pitch_bytes, number] {
      std::size_t ignored = 0;
      const cuda_stand_in::Mapping* const there = machine.find(address, 1, &ignored);
      if (there != nullptr && state().decoders.contains(decoder)) {
        write_picture(there->alias, pitch_bytes, *decoder, number);
      }
    });
    return ok;
  });
}

cuda::Result unmap(Decoder* decoder, cuda::Address address) {
  return guarded("cuvidUnmapVideoFrame", true, [&](Machine& machine) {
    if (!state().decoders.contains(decoder) || decoder->mapped.erase(address) == 0) {
      return invalid_value;
    }
    machine.free(address);
    return ok;
  });
}

}  // namespace

}  // namespace framewire::test::nvcuvid_stand_in

namespace {

using namespace framewire::test::nvcuvid_stand_in;
using framewire::cuda::Address;
using framewire::cuda::Result;

constexpr Result never_called = framewire::test::cuda_stand_in::not_supported;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVIDIA's names
extern "C" {

Result cuvidGetDecoderCaps(Capabilities* of) {
  return capabilities(of);
}
Result cuvidCreateDecoder(Decoder** decoder, const CreateInfo* info) {
  return create(decoder, info);
}
Result cuvidDestroyDecoder(const Decoder* decoder) {
  return destroy(decoder);
}
Result cuvidDecodePicture(Decoder* decoder, const PictureParameters* picture) {
  return decode(decoder, picture);
}
Result cuvidMapVideoFrame64(Decoder* decoder, int surface, Address* address, unsigned* pitch,
                            const ProcessingParameters* parameters) {
  return map(decoder, surface, address, pitch, parameters);
}
Result cuvidUnmapVideoFrame64(Decoder* decoder, Address address) {
  return unmap(decoder, address);
}
Result cuvidGetDecodeStatus() {
  return never_called;
}
Result cuvidReconfigureDecoder() {
  return never_called;
}
Result cuvidCtxLockCreate() {
  return never_called;
}
Result cuvidCtxLockDestroy() {
  return never_called;
}
Result cuvidCtxLock() {
  return never_called;
}
Result cuvidCtxUnlock() {
  return never_called;
}
Result cuvidCreateVideoSource() {
  return never_called;
}
Result cuvidCreateVideoSourceW() {
  return never_called;
}
Result cuvidDestroyVideoSource() {
  return never_called;
}
Result cuvidSetVideoSourceState() {
  return never_called;
}
Result cuvidGetVideoSourceState() {
  return never_called;
}
Result cuvidGetSourceVideoFormat() {
  return never_called;
}
Result cuvidGetSourceAudioFormat() {
  return never_called;
}
Result cuvidCreateVideoParser() {
  return never_called;
}
Result cuvidParseVideoData() {
  return never_called;
}
Result cuvidDestroyVideoParser() {
  return never_called;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
