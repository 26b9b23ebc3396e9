# Third-party dependencies, all from Debian packages; scripts/setup installs them.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(LIBAV REQUIRED IMPORTED_TARGET libavformat libavcodec libavdevice libavutil libswscale)
pkg_check_modules(GLFW REQUIRED IMPORTED_TARGET glfw3)
pkg_check_modules(PLACEBO REQUIRED IMPORTED_TARGET libplacebo>=4.208)
pkg_check_modules(XCB_PRESENT REQUIRED IMPORTED_TARGET xcb-present xcb)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(TOMLPLUSPLUS REQUIRED tomlplusplus>=3.0)  # its headers
pkg_check_modules(RDMA REQUIRED IMPORTED_TARGET libibverbs librdmacm)
find_path(IMGUI_INCLUDE_DIR imgui.h PATH_SUFFIXES imgui REQUIRED)
find_library(IMGUI_LIBRARY imgui REQUIRED)
find_library(STB_LIBRARY stb REQUIRED)
find_program(GLAD_PROGRAM glad REQUIRED)
if(FRAMEWIRE_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # What is found may be a script of pyenv or the like that looks for the interpreter at each start, which takes an
  # emulated machine six seconds.
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import sys; print(sys.executable, end='')"
                  OUTPUT_VARIABLE Python3_EXECUTABLE COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(Python3::Interpreter PROPERTIES IMPORTED_LOCATION ${Python3_EXECUTABLE})
endif()

# fmt for the libraries: from its headers, so that they do not need libfmt, and without its assertions, which print.
add_library(framewire_fmt INTERFACE)
target_link_libraries(framewire_fmt INTERFACE fmt::fmt-header-only)
# CMake takes no macro with parameters for a definition.
target_compile_options(framewire_fmt INTERFACE "-DFMT_ASSERT(condition,message)=static_cast<void>(0)")
