# Sources that draw with OpenGL.
framewire_test(sender_gl SOURCES gl_counter_reader.cpp gl_scene_renderer_test.cpp gl_scene_test.cpp gl_source_test.cpp
  gl_keyboard_test.cpp gl_mouse_test.cpp gl_tick_clock_test.cpp
  DEPENDS framewire_source_gl)
