# Manual pages and completions. Every program writes its own (command/manual.hpp) to build/<preset>/share, in the
# installed layout. Included after all programs, because the pages refer to each other.
get_property(framewire_manuals GLOBAL PROPERTY FRAMEWIRE_MANUALS)
find_program(GZIP_PROGRAM gzip)
string(TIMESTAMP manual_date "%Y-%m-%d" UTC)  # or SOURCE_DATE_EPOCH

set(manual_folder share/man/man1)
set(bash_folder share/bash-completion/completions)
set(zsh_folder share/zsh/site-functions)
foreach(folder IN LISTS manual_folder bash_folder zsh_folder)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
endforeach()

# write_manuals(PROGRAM)
function(write_manuals program)
  set(page ${manual_folder}/${program}.1)
  set(bash ${bash_folder}/${program})
  set(zsh ${zsh_folder}/_${program})
  set(installed ${page})
  set(compress)
  if(GZIP_PROGRAM)
    set(installed ${page}.gz)
    set(compress COMMAND ${GZIP_PROGRAM} -9nc ${page} > ${page}.gz)
  endif()
  add_custom_command(OUTPUT ${page} ${installed} ${bash} ${zsh}
    COMMAND ${program} --write-manual man ${manual_date} ${framewire_manuals} > ${page}
    ${compress}
    COMMAND ${program} --write-manual bash > ${bash}
    COMMAND ${program} --write-manual zsh > ${zsh}
    DEPENDS ${program} COMMENT "Writing the manual of ${program}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY FRAMEWIRE_MANUAL_FILES ${page} ${bash} ${zsh})

  get_target_property(package ${program} FRAMEWIRE_PACKAGE)
  install(FILES ${PROJECT_BINARY_DIR}/${installed} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${package})
  install(FILES ${PROJECT_BINARY_DIR}/${bash} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions COMPONENT ${package})
  # zsh searches site-functions below /usr/local. Debian's zsh searches vendor-completions for packages.
  install(FILES ${PROJECT_BINARY_DIR}/${zsh} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions COMPONENT local)
  install(FILES ${PROJECT_BINARY_DIR}/${zsh} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/vendor-completions COMPONENT ${package} EXCLUDE_FROM_ALL)
endfunction()

foreach(program IN LISTS framewire_manuals)
  write_manuals(${program})
endforeach()
get_property(manual_files GLOBAL PROPERTY FRAMEWIRE_MANUAL_FILES)
add_custom_target(manuals ALL DEPENDS ${manual_files})
