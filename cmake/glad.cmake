# The OpenGL and EGL loader. Generated at configure time from the specifications in Debian's glad package, without
# network access or copied code.
set(glad_dir ${PROJECT_BINARY_DIR}/glad)
set(glad_extensions GL_AMD_pinned_memory GL_EXT_memory_object GL_EXT_memory_object_fd EGL_EXT_device_base EGL_EXT_device_enumeration EGL_EXT_device_query EGL_EXT_platform_base
  EGL_EXT_platform_device EGL_MESA_platform_surfaceless EGL_KHR_no_config_context EGL_KHR_surfaceless_context
  EGL_KHR_image_base EGL_EXT_device_drm EGL_EXT_device_drm_render_node EGL_EXT_image_dma_buf_import EGL_EXT_image_dma_buf_import_modifiers)
list(JOIN glad_extensions "," glad_extensions)
set(glad_arguments --quiet --api gl:core=4.5,egl=1.5 --extensions ${glad_extensions} --out-path ${glad_dir} --reproducible c --loader)

# Runs only when the arguments change, because new headers recompile everything that uses OpenGL.
set(glad_stamp ${glad_dir}/arguments.txt)
set(glad_done "")
if(EXISTS ${glad_stamp})
  file(READ ${glad_stamp} glad_done)
endif()
if(NOT glad_done STREQUAL "${glad_arguments}")
  execute_process(COMMAND ${GLAD_PROGRAM} ${glad_arguments} RESULT_VARIABLE glad_result OUTPUT_VARIABLE glad_output ERROR_VARIABLE glad_output)
  if(NOT glad_result EQUAL 0)
    message(FATAL_ERROR "${GLAD_PROGRAM} did not write the OpenGL loader (is python3-glad 2 installed?):\n${glad_output}")
  endif()
  file(WRITE ${glad_stamp} "${glad_arguments}")
endif()

# A separate C library, so that our warning options do not apply to generated code. It opens libEGL at run time; nothing
# links to libEGL.
add_library(framewire_glad STATIC ${glad_dir}/src/gl.c ${glad_dir}/src/egl.c)
target_include_directories(framewire_glad SYSTEM PUBLIC ${glad_dir}/include)
target_link_libraries(framewire_glad PUBLIC ${CMAKE_DL_LIBS})
