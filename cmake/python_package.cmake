# The Debian package python3-framewire. Included before CPack. `cmake --install` leaves it out: where Python looks for
# packages is not the prefix's business (scripts/wheel is for that).
if(NOT TARGET framewire_python)
  return()
endif()

set(python_packages lib/python3/dist-packages)
install(TARGETS framewire_python LIBRARY DESTINATION ${python_packages}/framewire COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY python/framewire DESTINATION ${python_packages} COMPONENT python EXCLUDE_FROM_ALL
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed PATTERN _framewire EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY examples/python/ DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/python3-framewire/examples
  COMPONENT python EXCLUDE_FROM_ALL PATTERN __pycache__ EXCLUDE)

list(APPEND CPACK_COMPONENTS_ALL python)
add_package_documents(python python3-framewire)

# As debhelper's dh_python3 does.
set(control_folder ${PROJECT_BINARY_DIR}/packages/python)
file(WRITE ${control_folder}/postinst "#!/bin/sh\nset -e\nif command -v py3compile >/dev/null 2>&1; then\n\
  py3compile -p python3-framewire\nfi\n")
file(WRITE ${control_folder}/prerm "#!/bin/sh\nset -e\nif command -v py3clean >/dev/null 2>&1; then\n\
  py3clean -p python3-framewire\nfi\n")
file(CHMOD ${control_folder}/postinst ${control_folder}/prerm PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-framewire)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.11), python3:any, libframewire0 (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-numpy, python3-torch, python3-opencv, python3-matplotlib, framewire")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${control_folder}/postinst;${control_folder}/prerm")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "uncompressed frames as arrays, from other programs and machines
Programs in Python receive frames as arrays of NumPy, PyTorch or OpenCV, and
fill the frames that they send in place: on one machine without a copy, and
between machines over RDMA or TCP.")
