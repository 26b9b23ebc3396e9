# libframewire-core: the folders base, frame, memory, input and transport as one shared library. Our programs link it. Its interface
# is C++ and changes with every release, so its soname is the whole version, and it lies in a folder of its own.
#
# Each of these folders is a static library, too. Tests link those, because some tests replace functions of the library.
option(FRAMEWIRE_SHARED "Programs link libframewire-core.so; OFF: each program contains what it needs of it" ON)

set(core_folder ${CMAKE_INSTALL_LIBDIR}/framewire)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# add_to_core(TARGET)
function(add_to_core target)
  set_property(GLOBAL APPEND PROPERTY FRAMEWIRE_CORE ${target})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # Nobody replaces a function of the shared library. So the compiler may inline it, and the linker calls it directly.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
endfunction()

# core_as_the_program_wants_it(LIST): replaces the library's folders in this list. A program that link_core_shared()
# was called for links the shared library in their place, whichever library asks for them.
function(core_as_the_program_wants_it list)
  get_property(core GLOBAL PROPERTY FRAMEWIRE_CORE)
  set(replaced)
  foreach(target IN LISTS ${list})
    if(target IN_LIST core)
      set(target $<IF:$<BOOL:$<TARGET_PROPERTY:FRAMEWIRE_LINKS_SHARED>>,framewire_shared,${target}>)
    endif()
    list(APPEND replaced ${target})
  endforeach()
  set(${list} ${replaced} PARENT_SCOPE)
endfunction()

# link_core_shared(PROGRAM)
function(link_core_shared program)
  if(FRAMEWIRE_SHARED)
    file(RELATIVE_PATH up /${CMAKE_INSTALL_BINDIR} /${core_folder})
    set_target_properties(${program} PROPERTIES FRAMEWIRE_LINKS_SHARED ON INSTALL_RPATH "$ORIGIN/${up}")
  endif()
endfunction()

# Call once, after the library's folders.
function(add_shared_core)
  if(NOT FRAMEWIRE_SHARED)
    return()
  endif()
  get_property(core GLOBAL PROPERTY FRAMEWIRE_CORE)
  list(TRANSFORM core REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(framewire_shared SHARED ${objects})
  set_target_properties(framewire_shared PROPERTIES OUTPUT_NAME framewire-core VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION}
    LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_link_libraries(framewire_shared PUBLIC framewire_settings Threads::Threads PkgConfig::RDMA
    PRIVATE OpenSSL::SSL OpenSSL::Crypto PkgConfig::XXHASH)
  target_link_options(framewire_shared PRIVATE -Wl,-Bsymbolic-functions
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/library.map)
  set_property(TARGET framewire_shared APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/library.map)
  if(FRAMEWIRE_SANITIZE STREQUAL "" AND NOT FRAMEWIRE_FUZZER)  # whose functions only the programs have
    target_link_options(framewire_shared PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS framewire_shared LIBRARY DESTINATION ${core_folder} COMPONENT bytes NAMELINK_SKIP)
endfunction()
