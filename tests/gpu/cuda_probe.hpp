// What the parts of gpu_cuda_probe share: questions with one line each, and memory with known content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tests/gpu/cuda_driver.hpp"

namespace framewire {

/// The picture that is copied, four bytes for a pixel.
inline constexpr Size probed_size{3840, 2160};
inline constexpr std::size_t probed_bytes = std::size_t{probed_size.width} * probed_size.height * 4;

/// Prints one line: the question, and what `answer` says. If it throws Error, the line says "no", and why.
template <typename Answer>
void ask(const std::string& question, Answer answer) {
  std::string text;
  try {
    text = answer();
  } catch (const Error& error) {
    text = std::string("no: ") + error.what();
  }
  std::printf("%s: %s\n", question.c_str(), text.c_str());
  std::fflush(stdout);
}

/// Asks several questions that need the same. If that throws Error, a line says "no", and why.
template <typename Questions>
void ask_about(const std::string& subject, Questions questions) {
  try {
    questions();
  } catch (const Error& error) {
    ask(subject, [&]() -> std::string { throw Error(error); });
  }
}

using Words = std::vector<std::uint32_t>;

/// Words that all differ from their neighbours. `number` makes others.
Words test_words(std::size_t count, std::uint32_t number = 0);

/// "exact"; throws Error that names the first word that is not that of test_words().
std::string require_test_words(const Words& words, std::uint32_t number = 0);

/// "0.612 ms".
std::string in_ms(double milliseconds);

/// The questions about OpenGL and CUDA together. Throws Error if there is no OpenGL.
void ask_about_gl(const CudaDriver& cuda);

}  // namespace framewire
