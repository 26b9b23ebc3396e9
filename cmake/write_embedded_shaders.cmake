# Writes to `output` a table of names and sources of the GLSL `files` (separated by |). Names are paths below `root`.
string(REPLACE "|" ";" files "${files}")
set(table "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${root} ${file})
  file(READ ${file} source)
  string(APPEND table "    EmbeddedShader{\"${name}\", R\"glsl(${source})glsl\"},\n")
endforeach()
file(WRITE ${output} "// Written by cmake/write_embedded_shaders.cmake.
#include \"shaders/embedded.hpp\"

#include <array>

namespace framewire {

namespace {

constexpr std::array table = {
${table}};

}  // namespace

std::span<const EmbeddedShader> embedded_shaders() noexcept { return table; }

}  // namespace framewire
")
