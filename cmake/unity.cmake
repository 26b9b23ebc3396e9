# The presets with sanitizers, tidy and programs take about twenty files of a folder as one. For a compiler that is a third
# less time (asan with ten on two cores: 358 s instead of 560 s, 2026-11-25), because most of it goes into the same
# headers. Such files share their anonymous namespaces. These here have names in them that others of their folder have,
# too, and are compiled on their own. Included after all targets exist.
if(NOT CMAKE_UNITY_BUILD)
  return()
endif()

# apart(FOLDER FILE…)
function(apart folder)
  set(files ${ARGN})
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
  set_source_files_properties(${files} DIRECTORY ${folder} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# links.cpp is alone for another reason: a test has a list of links of its own.
apart(transport links.cpp rdma/memory_window.cpp)
# g++ takes the hidden class of this one, with members of the file's own classes, for a mistake in an included file.
apart(gl placebo_painter.cpp)
apart(command manual_man_page.cpp manual_zsh_completion.cpp)
apart(bench protocol.cpp socket_ends.cpp socket_rows.cpp verbs_rows.cpp)
apart(doctor check_rdma.cpp probe_gpu.cpp probe_host.cpp)
apart(bytes output.cpp)
apart(rdpipe stage_agent.cpp)
if(FRAMEWIRE_TESTS)
  apart(tests/bench frame_rows_test.cpp verbs_protocol_test.cpp xdp_protocol_test.cpp)
  apart(tests/doctor probe_test.cpp)
  apart(tests/viewer cadence_control_test.cpp)
  apart(tests/rdma_lab connection_test.cpp failing_verbs.cpp)
endif()

# Programs whose files are all of that kind, some of which only some presets have; and the shaders, where a generated
# file, which clang-tidy does not read, would be compiled with a written one.
foreach(target test_allocations test_sessions_sim framewire_shaders)
  if(TARGET ${target})
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endforeach()
