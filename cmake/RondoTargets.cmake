# Targets of Rondo. One library target per folder under rondo/, named
# rondo_<folder>; its tests are one executable, rondo_<folder>_test.

add_library(rondo_flags INTERFACE)
target_include_directories(rondo_flags INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
target_compile_options(rondo_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # GCC 12 sees overlaps in "literal" + std::string that are not there.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(RONDO_WERROR)
  target_compile_options(rondo_flags INTERFACE -Werror)
endif()
if(RONDO_SANITIZE)
  target_compile_options(rondo_flags INTERFACE
    -fsanitize=${RONDO_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(rondo_flags INTERFACE -fsanitize=${RONDO_SANITIZE})
elseif(CMAKE_BINARY_DIR MATCHES "/build-(asan|tsan)$")
  # CMake forgets all options when a preset's compiler has changed.
  message(FATAL_ERROR
    "${CMAKE_BINARY_DIR} has lost the preset's options: remove that folder")
endif()
# A program in C has the sanitizers' library for C++ too, which the shared library
# needs.
function(rondo_sanitized_c target)
  if(RONDO_SANITIZE)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()

# Tests are to be compiled quickly: their own code is not what takes time when
# they run. The headers that all of them include are compiled once.
function(rondo_test_options target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  # Else an executable's code is of another kind than the shared headers'.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()
if(RONDO_TESTS)
  add_library(rondo_test_headers OBJECT
    ${CMAKE_CURRENT_LIST_DIR}/test_headers.cc)
  target_link_libraries(rondo_test_headers PRIVATE
    rondo_flags fmt::fmt GTest::gtest GTest::gmock)
  target_precompile_headers(rondo_test_headers PRIVATE
    <algorithm> <atomic> <chrono> <condition_variable> <functional> <map>
    <memory> <mutex> <optional> <set> <span> <string> <thread> <vector>
    <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h>)
  rondo_test_options(rondo_test_headers)
endif()

# rondo_fuzzers(LIBRARY SOURCE...): a program of each source, which libFuzzer
# drives, in fuzz/ of the build folder. With RONDO_FUZZ only.
add_custom_target(rondo_fuzz)
function(rondo_fuzzers library)
  if(NOT RONDO_FUZZ)
    return()
  endif()
  foreach(source ${ARGN})
    get_filename_component(program ${source} NAME_WE)
    add_executable(${program} ${source})
    target_link_libraries(${program} PRIVATE ${library})
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${program} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    add_dependencies(rondo_fuzz ${program})
  endforeach()
endfunction()

# rondo_library(NAME SOURCES ... DEPS ... [TESTS ...])
# SOURCES and TESTS are relative to the calling folder. DEPS are other targets;
# what Rondo's own folders may depend on is checked by scripts/check_layers.
function(rondo_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;TESTS" ${ARGN})
  add_library(rondo_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(rondo_${name} PUBLIC rondo_flags ${ARG_DEPS})
  if(RONDO_TESTS AND ARG_TESTS)
    add_executable(rondo_${name}_test ${ARG_TESTS})
    target_link_libraries(rondo_${name}_test PRIVATE
      rondo_${name} GTest::gtest GTest::gmock GTest::gtest_main)
    rondo_test_options(rondo_${name}_test)
    target_precompile_headers(rondo_${name}_test REUSE_FROM rondo_test_headers)
    gtest_discover_tests(rondo_${name}_test
      TEST_PREFIX "${name}." PROPERTIES TIMEOUT 120 DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
