# Compiler settings of all targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Programs load only the libraries that they use. Half of all libraries are for input devices, which only the sender
# needs.
add_link_options(-Wl,--as-needed)

add_library(framewire_settings INTERFACE)
target_include_directories(framewire_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
target_compile_options(framewire_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wimplicit-fallthrough>)
# One file's local variable may have the name of a constant of another file that is compiled with it.
if(CMAKE_UNITY_BUILD)
  target_compile_options(framewire_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
endif()
# Off by default: packagers may use a compiler that warns more.
if(FRAMEWIRE_WERROR)
  target_compile_options(framewire_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# g++ 12 reports false out-of-bounds writes in optimised code (GCC bug 105329 and similar). Sanitizers find the real
# ones.
target_compile_options(framewire_settings INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-stringop-overflow -Wno-restrict>)
target_compile_definitions(framewire_settings INTERFACE FRAMEWIRE_VERSION="${PROJECT_VERSION}")

if(FRAMEWIRE_SANITIZE STREQUAL "address")
  # The vptr check opens a pipe to ask whether an address is readable. It reports a false error in tests that run out of
  # descriptors.
  set(sanitize -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(FRAMEWIRE_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT FRAMEWIRE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "FRAMEWIRE_SANITIZE is '${FRAMEWIRE_SANITIZE}'; it takes address, thread or nothing")
endif()
if(sanitize)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
  # g++ 12 reports false positives of these two in code that sanitizers have instrumented, and warns that tsan does not
  # support fences.
  target_compile_options(framewire_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-stringop-overflow>)
  if(FRAMEWIRE_SANITIZE STREQUAL "thread")
    target_compile_options(framewire_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  endif()
endif()

# What a fuzzer sees of the code that it tests: our libraries and the programs of tests/fuzz. Counting branches costs
# other tests nothing that can be measured. To see operands of comparisons, too, finds more in long runs, and makes the
# code two to three times slower.
if(FRAMEWIRE_FUZZER STREQUAL "branches")
  set(seen_by_fuzzer -fsanitize-coverage=inline-8bit-counters,pc-table)
elseif(FRAMEWIRE_FUZZER STREQUAL "comparisons")
  set(seen_by_fuzzer -fsanitize=fuzzer-no-link)
elseif(NOT FRAMEWIRE_FUZZER STREQUAL "")
  message(FATAL_ERROR "FRAMEWIRE_FUZZER is '${FRAMEWIRE_FUZZER}'; it takes branches, comparisons or nothing")
endif()
if(seen_by_fuzzer AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "FRAMEWIRE_FUZZER needs clang, whose libFuzzer it uses; the compiler is ${CMAKE_CXX_COMPILER_ID}")
endif()

# framewire_library(NAME [CORE] SOURCES … DEPENDS …): builds one folder as a static library. DEPENDS are the folders
# that it may include. CORE: the folder is part of libframewire-core (cmake/library.cmake).
function(framewire_library name)
  cmake_parse_arguments(ARG "CORE" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  add_library(framewire_${name} STATIC ${ARG_SOURCES})
  if(ARG_CORE)
    add_to_core(framewire_${name})
  else()
    core_as_the_program_wants_it(ARG_DEPENDS)
  endif()
  target_compile_options(framewire_${name} PRIVATE ${seen_by_fuzzer})
  target_link_libraries(framewire_${name} PUBLIC framewire_settings ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# framewire_program(NAME SOURCES … DEPENDS … [PACKAGE frames] [HELPER]): builds an executable in build/<preset>/bin and
# its manual page (cmake/manuals.cmake). It goes to package framewire-bytes, or with PACKAGE frames (OpenGL or libav) to
# framewire (cmake/packages.cmake). A HELPER is run by another program; it reads no command line and has no manual page.
function(framewire_program name)
  cmake_parse_arguments(ARG "HELPER" "PACKAGE" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_PACKAGE)
    set(ARG_PACKAGE bytes)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  link_core_shared(${name})
  core_as_the_program_wants_it(ARG_DEPENDS)
  target_link_libraries(${name} PRIVATE framewire_settings ${ARG_DEPENDS})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${ARG_PACKAGE})
  if(NOT ARG_HELPER)
    set_property(GLOBAL APPEND PROPERTY FRAMEWIRE_MANUALS ${name})
    set_target_properties(${name} PROPERTIES FRAMEWIRE_PACKAGE ${ARG_PACKAGE})
  endif()
endfunction()
