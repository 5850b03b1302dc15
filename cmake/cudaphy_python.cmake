# SPDX-License-Identifier: GPL-3.0-or-later
# Finds the Python that can import GNU Radio. Another python3 may stand first on PATH.
set(CUDAPHY_PYTHON_NEEDS numpy)
if(ENABLE_GNURADIO)
    set(CUDAPHY_PYTHON_NEEDS "gnuradio.gr, numpy")
endif()
if(NOT PYTHON_EXECUTABLE)
    find_program(PYTHON_ON_PATH python3)
    foreach(candidate /usr/bin/python3 ${PYTHON_ON_PATH})
        execute_process(COMMAND ${candidate} -c "import ${CUDAPHY_PYTHON_NEEDS}"
            RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            set(PYTHON_EXECUTABLE ${candidate} CACHE FILEPATH "Python that builds and tests")
            break()
        endif()
    endforeach()
endif()
if(ENABLE_PYTHON AND NOT PYTHON_EXECUTABLE)
    message(FATAL_ERROR "No python3 that can import ${CUDAPHY_PYTHON_NEEDS} was found. "
        "Set -DPYTHON_EXECUTABLE=..., or -DENABLE_PYTHON=OFF.")
endif()
set(Python3_EXECUTABLE ${PYTHON_EXECUTABLE})
message(STATUS "Python: ${PYTHON_EXECUTABLE}")
if(PYTHON_EXECUTABLE)
    execute_process(COMMAND ${PYTHON_EXECUTABLE} -c "import sys; print(sys.executable)"
        OUTPUT_VARIABLE CUDAPHY_INTERPRETER OUTPUT_STRIP_TRAILING_WHITESPACE
        COMMAND_ERROR_IS_FATAL ANY)
endif()

# cudaphy_install_program(program.py DESTINATION NAME): installs a Python program. Its first line
# names GNU Radio's Python, because another python3 may stand first on PATH.
function(cudaphy_install_program file destination name)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/installed/${name})
    file(READ ${file} text)
    if(CUDAPHY_INTERPRETER)
        string(REPLACE "#!/usr/bin/env python3\n" "#!${CUDAPHY_INTERPRETER}\n" text "${text}")
    endif()
    file(WRITE ${program} "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    install(PROGRAMS ${program} DESTINATION ${destination})
endfunction()
