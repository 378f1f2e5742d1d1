# The helpers that declare everything Kiln builds.
#
#   kiln_library(NAME symbolic HDRS bounds.h SRCS bounds.cc DEPS kiln::rewrite [PRIVATE_DEPS ...])
#   kiln_binary(NAME kiln-replay SRCS main.cc DEPS ...)
#   kiln_test(NAME bounds_test [SRCS ...] DEPS kiln::symbolic [LABELS ...] [ARGS ...] [TIMEOUT s])
#   kiln_command_test(NAME layer_check COMMAND layer_check.py [ARGS ...] [LABELS ...] [TIMEOUT s])
#   kiln_bench(NAME rewrite_bench [SRCS ...] DEPS kiln::rewrite [SMOKE regex])
#   kiln_fuzz(NAME parse_fuzz [SRCS ...] DEPS kiln::uop [RUNS n] [MAX_LEN bytes])
#
# Paths are relative to the calling folder. Includes are written from the root of the repository
# ("core/uop/graph.h"). Executables go to <build>/bin, also the name by which ctest knows them.
# DEPS are what the headers need (public); PRIVATE_DEPS are what only the .cc files need. A test
# checks that both, and the #includes, keep to the layers (tests/unit/layers).

include_guard(GLOBAL)

function(kiln_warnings target)
  target_compile_options(${target} PRIVATE ${KILN_WARNINGS} ${ARGN})
endfunction()

# Parses the arguments of the helper that calls it into ARG_<name>, and rejects unknown ones.
macro(_kiln_parse one_value multi_value)
  cmake_parse_arguments(ARG "" "NAME;${one_value}" "${multi_value}" ${ARGN})
  if(NOT ARG_NAME OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: NAME missing, or unknown: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

# Makes kiln_<NAME>, alias kiln::<NAME>. Without SRCS it is header-only.
function(kiln_library)
  _kiln_parse("" "HDRS;SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  set(target kiln_${ARG_NAME})
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_HDRS} ${ARG_SRCS})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
    kiln_warnings(${target})
  else()
    if(ARG_PRIVATE_DEPS)
      message(FATAL_ERROR "kiln_library ${ARG_NAME}: a header-only library has no PRIVATE_DEPS")
    endif()
    add_library(${target} INTERFACE ${ARG_HDRS})
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
  endif()
  add_library(kiln::${ARG_NAME} ALIAS ${target})
endfunction()

# Makes the executable NAME out of SRCS, or of <NAME>.cc.
function(_kiln_executable name srcs deps)
  if(NOT srcs)
    set(srcs ${name}.cc)
  endif()
  add_executable(${name} ${srcs})
  if(KILN_SANITIZE MATCHES thread)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_absl.cc)
    target_link_libraries(${name} PRIVATE absl::synchronization)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${deps})
  kiln_warnings(${name})
endfunction()

function(kiln_binary)
  _kiln_parse("" "SRCS;DEPS" ${ARGN})
  _kiln_executable(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
endfunction()

# Registers a test. Its label is its folder below tests/ unless LABELS says otherwise. Tests run in
# the root of the repository, so that fixtures are tests/fixtures.
function(_kiln_add_test name labels timeout)
  if(NOT labels)
    file(RELATIVE_PATH labels ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "/.*" "" labels "${labels}")
  endif()
  if(NOT timeout)
    set(timeout 300)
  endif()
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
endfunction()

# A GoogleTest binary, one ctest entry.
function(kiln_test)
  _kiln_parse("TIMEOUT" "SRCS;DEPS;LABELS;ARGS" ${ARGN})
  if(NOT KILN_BUILD_TESTS)
    return()
  endif()
  list(APPEND ARG_DEPS GTest::gmock_main GTest::gmock GTest::gtest)
  _kiln_executable(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  target_compile_options(${ARG_NAME} PRIVATE -Wno-sign-compare) # EXPECT_EQ(v.size(), 3)
  _kiln_add_test(${ARG_NAME} "${ARG_LABELS}" "${ARG_TIMEOUT}" ${ARG_NAME} ${ARG_ARGS})
endfunction()

# A test that runs COMMAND: a binary of the tree or an executable script of the calling folder. Exit
# code 77 means skipped; the command says why.
function(kiln_command_test)
  _kiln_parse("COMMAND;TIMEOUT" "LABELS;ARGS" ${ARGN})
  if(NOT KILN_BUILD_TESTS)
    return()
  endif()
  if(NOT TARGET ${ARG_COMMAND})
    set(ARG_COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_COMMAND})
  endif()
  _kiln_add_test(${ARG_NAME} "${ARG_LABELS}" "${ARG_TIMEOUT}" ${ARG_COMMAND} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# A Google Benchmark binary. Not a test, unless SMOKE names benchmarks that ctest runs briefly to
# see that they still work.
function(kiln_bench)
  _kiln_parse("SMOKE;TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT KILN_BUILD_BENCH)
    return()
  endif()
  list(APPEND ARG_DEPS benchmark::benchmark_main benchmark::benchmark)
  _kiln_executable(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  if(ARG_SMOKE)
    _kiln_add_test(${ARG_NAME} "${ARG_LABELS}" "${ARG_TIMEOUT}" ${ARG_NAME}
                   --benchmark_min_time=0.001 --benchmark_filter=${ARG_SMOKE})
  endif()
endfunction()

if(KILN_BUILD_FUZZ)
  add_custom_target(fuzz_targets) # All libFuzzer binaries; what the preset `fuzz` builds.
endif()

# A libFuzzer binary, built by the preset `fuzz` only. ctest runs it for RUNS seeded inputs under the
# label `faults`; by hand, `build/fuzz/bin/<NAME> <corpus folder>` runs until it finds something.
function(kiln_fuzz)
  _kiln_parse("RUNS;MAX_LEN;TIMEOUT" "SRCS;DEPS" ${ARGN})
  if(NOT KILN_BUILD_FUZZ)
    return()
  endif()
  if(NOT ARG_RUNS)
    set(ARG_RUNS 20000)
  endif()
  if(NOT ARG_MAX_LEN)
    set(ARG_MAX_LEN 4096)
  endif()
  _kiln_executable(${ARG_NAME} "${ARG_SRCS}" "${ARG_DEPS}")
  target_link_options(${ARG_NAME} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${ARG_NAME})
  _kiln_add_test(${ARG_NAME} faults "${ARG_TIMEOUT}" ${ARG_NAME} -runs=${ARG_RUNS} -seed=1
                 -max_len=${ARG_MAX_LEN} -artifact_prefix=${PROJECT_BINARY_DIR}/)
endfunction()

# Adds the named folders, in order.
function(kiln_add_subdirectories)
  foreach(folder ${ARGN})
    add_subdirectory(${folder})
  endforeach()
endfunction()
