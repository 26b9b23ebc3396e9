// Frames on standard input: y4m, or raw frames whose size and format the command line states.
#pragma once

#include <string>

#include "sender/source.hpp"
#include "sender/sources/media/presentation_clock.hpp"
#include "sender/sources/media/stream_reader.hpp"

namespace framewire {

/// Reads frames directly into their slots. y4m states its size and format; raw frames need --size and --pix-fmt. Paced
/// by the y4m header's rate or by --fps. Raw frames without --fps are sent as fast as they come.
class StdinSource final : public Source {
 public:
  /// Throws Error for invalid options, and if `fd` is closed or a terminal. The caller keeps ownership of `fd`.
  explicit StdinSource(SourceOptions options, int fd = 0);

  [[nodiscard]] std::string describe() const override;
  /// Throws Error if the input contradicts the options or ends inside a frame. The frames before that are published.
  void run(Stream& stream) override;

 private:
  bool recognise(StreamReader& reader);
  bool take_y4m_header(StreamReader& reader);
  void take_raw_format(const std::string& beginning);
  void check_against_options() const;
  bool await_frame(StreamReader& reader);
  bool send_frame(Stream& stream, StreamReader& reader);
  bool fill(StreamReader& reader, std::span<std::byte> slice, std::uint64_t before_bytes);
  [[nodiscard]] std::string so_far() const;

  SourceOptions options_;
  int fd_;
  bool is_y4m_ = false;
  StreamFormat format_;
  PresentationClock presentation_clock_{0};
  std::uint64_t frames_sent_ = 0;
  bool has_slot_ = false;
};

}  // namespace framewire
