# embed_shaders(TARGET files…): embeds GLSL files into a program at build time. shaders/embedded.hpp finds them by their
# path below shaders/. Called once, for the target framewire_shaders.
function(embed_shaders target)
  set(output ${PROJECT_BINARY_DIR}/generated/shaders/embedded_files.cpp)
  list(JOIN ARGN "|" files)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -D output=${output} -D root=${PROJECT_SOURCE_DIR}/shaders -D "files=${files}"
      -P ${PROJECT_SOURCE_DIR}/cmake/write_embedded_shaders.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/write_embedded_shaders.cmake
    COMMENT "Embedding the shaders" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
