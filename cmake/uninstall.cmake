# SPDX-License-Identifier: GPL-3.0-or-later
# cmake -DMANIFEST=install_manifest.txt -P uninstall.cmake: removes the files that the last
# `cmake --install` wrote, what Python compiled of them, and the module's folders thereby empty.
if(NOT EXISTS "${MANIFEST}")
    message(FATAL_ERROR "Nothing to uninstall: there is no ${MANIFEST}, in which "
        "cmake --install lists what it writes.")
endif()

file(STRINGS "${MANIFEST}" files)
set(removed 0)
foreach(listed IN LISTS files)
    set(file "$ENV{DESTDIR}${listed}")
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(name "${file}" NAME_WLE)
    file(GLOB compiled "${folder}/__pycache__/${name}.*.pyc")
    if(EXISTS "${file}" OR IS_SYMLINK "${file}")
        file(REMOVE "${file}" ${compiled})
        math(EXPR removed "${removed} + 1")
    endif()
    if(EXISTS "${file}" OR IS_SYMLINK "${file}")
        message(FATAL_ERROR "${file} could not be removed: uninstall as the user who installed.")
    endif()
    list(APPEND folders "${folder}/__pycache__" "${folder}")
endforeach()

# Only folders below one of the module's own name: others are shared with other packages.
foreach(folder IN LISTS folders)
    while(folder MATCHES "/(gr-|gnuradio-)?cudaphy(/|$)" AND NOT IS_SYMLINK "${folder}")
        file(GLOB inside "${folder}/*")
        if(inside)
            break()
        endif()
        file(REMOVE_RECURSE "${folder}")
        get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
endforeach()
message(STATUS "Uninstalled: ${removed} files removed")
