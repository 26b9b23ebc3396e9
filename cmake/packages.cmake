# Debian packages, built by CPack (scripts/package): framewire-bytes, for machines without OpenGL, framewire, which sends
# and shows frames, and those of the C library. `cmake --install` installs all of them and the documents. The documents'
# link targets are installed, too (tests/command/documents_test.py).
set(linked_documents README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md)
foreach(document LICENSE ${linked_documents})
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)
endforeach()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT documents)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents)

set(FRAMEWIRE_MAINTAINER "The framewire authors <root@localhost>" CACHE STRING "Who makes the packages: NAME <ADDRESS>; scripts/package knows")
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or SOURCE_DATE_EPOCH
# add_package_documents(COMPONENT PACKAGE): its copyright and changelog.
function(add_package_documents component package)
  set(package_folder ${PROJECT_BINARY_DIR}/packages/${component})
  configure_file(cmake/debian/copyright.in ${package_folder}/copyright @ONLY)
  configure_file(cmake/debian/changelog.in ${package_folder}/changelog @ONLY)
  set(package_documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
  install(FILES ${package_folder}/copyright DESTINATION ${package_documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(GZIP_PROGRAM)
    execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${package_folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
    install(FILES ${package_folder}/changelog.gz DESTINATION ${package_documents} COMPONENT ${component} EXCLUDE_FROM_ALL)
  endif()
endfunction()
add_package_documents(bytes framewire-bytes)
add_package_documents(frames framewire)
# Each document file belongs to only one package.
install(FILES ${linked_documents} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/framewire-bytes COMPONENT bytes EXCLUDE_FROM_ALL)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/framewire-bytes/docs COMPONENT bytes EXCLUDE_FROM_ALL)
install(FILES cmake/debian/framewire.overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME framewire COMPONENT frames EXCLUDE_FROM_ALL)
install(FILES cmake/debian/framewire-bytes.overrides DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/lintian/overrides RENAME framewire-bytes COMPONENT bytes EXCLUDE_FROM_ALL)
install(DIRECTORY docs/systemd DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/framewire/examples COMPONENT frames EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL bytes frames)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${FRAMEWIRE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own in the first line of its description
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)  # libframewire-core, of framewire-bytes
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_BYTES_PACKAGE_NAME framewire-bytes)
set(CPACK_DEBIAN_BYTES_PACKAGE_RECOMMENDS "ibverbs-providers, openssh-client")  # drivers of RDMA devices; rdpipe starts its stages by ssh
set(CPACK_DEBIAN_BYTES_DESCRIPTION "pipe bytes between machines over RDMA, TCP or shared memory
rdsend and rdrecv carry bytes from a command or file on one machine to another
machine, over the best link. They succeed only when every byte is written and
checked. rdpipe runs pipelines whose stages are on different hosts.

framewire doctor checks a machine, framewire bench measures links, and
framewire key makes keys. This package needs no graphics; package framewire
adds the programs that send and show video frames.")

set(CPACK_DEBIAN_FRAMES_PACKAGE_NAME framewire)
# OpenGL is loaded at run time, so dpkg-shlibdeps does not find it.
set(CPACK_DEBIAN_FRAMES_PACKAGE_DEPENDS "framewire-bytes (= ${PROJECT_VERSION}), libegl1, libgl1")
set(CPACK_DEBIAN_FRAMES_PACKAGE_RECOMMENDS "libegl-mesa0, libgl1-mesa-dri, ca-certificates")
set(CPACK_DEBIAN_FRAMES_PACKAGE_SUGGESTS "libxss1")  # suspends the screen saver
set(CPACK_DEBIAN_FRAMES_DESCRIPTION "uncompressed frames from one machine's GPU to another's screen
framewire send renders a scene, decodes a film or reads a camera, a screen or
a pipe, and framewire view shows it on another machine, or on the same one:
never compressed, over RDMA, TCP or shared memory, whichever is best.")
include(cmake/c_library.cmake)
include(cmake/python_package.cmake)
include(CPack)
