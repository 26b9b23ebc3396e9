// The rest of a fuzz target's program: `--seeds FOLDER` writes its seed corpus. Built without libFuzzer, it runs the
// files and folders that it is given once each, so that every compiler's build repeats what fuzzers have found.
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::size_t number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(folder / ("seed" + std::to_string(number++)), std::ios::binary);
    file << seed;
    if (!file.flush()) {
      throw Error::failed("cannot write seeds into " + folder.string());
    }
  }
}

bool writes_seeds(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--seeds") {
    return false;
  }
  write_seeds(argv[2]);
  return true;
}

}  // namespace
}  // namespace framewire::fuzz

#ifdef FRAMEWIRE_LIBFUZZER

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (framewire::fuzz::writes_seeds(*argc, *argv)) {
    std::fflush(nullptr);
    ::_exit(EXIT_SUCCESS);  // the fuzzer would begin
  }
  return 0;
}

#else

namespace {

void run(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      run(entry.path());
    }
    return;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::fprintf(stderr, "%s\n", path.c_str());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (!framewire::fuzz::writes_seeds(argc, argv)) {
      for (int i = 1; i < argc; ++i) {
        run(argv[i]);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

#endif
