// What a test asks of the stand-in for NVIDIA's decoder (nvcuvid.cpp), a libnvcuvid.so.1 over the stand-in for the
// driver (tests/cuda/stand_in.hpp), whose fail() and lose_device() also hold for the decoder's functions. Any thread.
#pragma once

#include <cstddef>

namespace framewire::test::nvcuvid_stand_in {

/// As a process starts: every codec, up to 4096x4096.
void reset();

/// What cuvidGetDecoderCaps says of every codec.
void set_supported(bool is_supported);
void set_max_width(unsigned width);

/// Decoders and mapped pictures that nobody has given back.
std::size_t decoders();
std::size_t mapped_pictures();
/// The most pictures that were mapped at a time, since reset().
std::size_t most_mapped_pictures();
/// Pictures that were decoded since reset().
std::size_t decoded_pictures();
/// Of the newest decoder, since reset().
std::size_t surfaces();

}  // namespace framewire::test::nvcuvid_stand_in
