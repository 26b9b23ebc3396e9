# What others need to link libframewire (library/): the library and its header, a file for pkg-config, a package for
# CMake, and the Debian packages libframewire0 and libframewire-dev. Included before CPack.
if(NOT TARGET framewire_c)
  return()
endif()
include(CMakePackageConfigHelpers)

set_target_properties(framewire_c PROPERTIES EXPORT_NAME framewire)
set(c_library_files ${PROJECT_BINARY_DIR}/c_library)
file(CONFIGURE OUTPUT ${c_library_files}/framewireConfig.cmake @ONLY CONTENT
  "include(\"\${CMAKE_CURRENT_LIST_DIR}/framewireTargets.cmake\")\n")
# 0.2 has all that 0.1 has, as long as the soname is the same.
write_basic_package_version_file(${c_library_files}/framewireConfigVersion.cmake COMPATIBILITY SameMajorVersion)

# install_c_library(FOLDER LIBRARY DEVELOPMENT [EXCLUDE_FROM_ALL]): to this folder for libraries, as these components.
function(install_c_library folder library development)
  set(cmake_files ${folder}/cmake/framewire)
  install(TARGETS framewire_c EXPORT framewire-${library} LIBRARY DESTINATION ${folder}
    COMPONENT ${library} NAMELINK_COMPONENT ${development} ${ARGN} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT framewire-${library} NAMESPACE framewire:: FILE framewireTargets.cmake DESTINATION ${cmake_files}
    COMPONENT ${development} ${ARGN})
  install(FILES ${c_library_files}/framewireConfig.cmake ${c_library_files}/framewireConfigVersion.cmake
    DESTINATION ${cmake_files} COMPONENT ${development} ${ARGN})
  # Its paths begin at the file's own place, so that they are right for every prefix.
  file(RELATIVE_PATH up /${folder}/pkgconfig /)
  string(REGEX REPLACE "/$" "" up "${up}")
  configure_file(cmake/framewire.pc.in ${c_library_files}/${library}/framewire.pc @ONLY)
  install(FILES ${c_library_files}/${library}/framewire.pc DESTINATION ${folder}/pkgconfig
    COMPONENT ${development} ${ARGN})
  install(DIRECTORY library/include/framewire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${development} ${ARGN}
    FILES_MATCHING PATTERN "*.h")
endfunction()

install_c_library(${CMAKE_INSTALL_LIBDIR} local local)
# Debian's libraries lie in a folder of their architecture, whichever prefix this build was configured for.
set(package_folder ${CMAKE_INSTALL_LIBDIR})
if(CMAKE_LIBRARY_ARCHITECTURE)
  set(package_folder lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
install_c_library(${package_folder} library development EXCLUDE_FROM_ALL)

# ---- Debian packages

list(APPEND CPACK_COMPONENTS_ALL library development)
add_package_documents(library libframewire0)
add_package_documents(development libframewire-dev)
install(DIRECTORY examples/c DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/libframewire-dev/examples
  COMPONENT development EXCLUDE_FROM_ALL)

# dpkg-shlibdeps reads these two for programs that link the library. The symbols file says since which version each
# function is there: it is kept by hand, and a test compares it with the header.
set(control_folder ${PROJECT_BINARY_DIR}/packages/library)
file(WRITE ${control_folder}/shlibs "libframewire 0 libframewire0 (>= ${PROJECT_VERSION})\n")
configure_file(cmake/debian/libframewire0.symbols ${control_folder}/symbols COPYONLY)
file(WRITE ${control_folder}/triggers "activate-noawait ldconfig\n")

install(FILES cmake/debian/libframewire0.overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides
  RENAME libframewire0 COMPONENT library EXCLUDE_FROM_ALL)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libframewire0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  "${control_folder}/shlibs;${control_folder}/symbols;${control_folder}/triggers")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "libibverbs1, librdmacm1, ibverbs-providers")  # opened at the first use of rdma
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "uncompressed frames between programs, without a copy or by the wire
A program that makes frames puts them into memory that programs on the same
machine read where they are; other machines get them over RDMA or TCP.

This package has the library that programs are linked with.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libframewire-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libframewire0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "framewire, cmake, pkgconf")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "files to build programs with libframewire
Programs that use libframewire send uncompressed frames to framewire view and
to other programs, and receive them: on one machine without a copy, and from
other machines over RDMA or TCP.

This package has the header, the files for pkg-config and CMake, and examples
in C and C++. docs/library.md in framewire-bytes describes the library.")
