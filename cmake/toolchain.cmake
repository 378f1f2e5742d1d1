# Language level, build types, warnings, linker, compiler cache and sanitizers, for the whole tree.
# Leaf CMakeLists.txt set no compiler flags.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()

# No -march: code that depends on the machine is generated at run time. No contraction: a value
# computed here has the same bits on every machine.
add_compile_options(-ffp-contract=off)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS")

# Warnings, added to our own targets only by kiln_warnings().
set(KILN_WARNINGS
    -Wall
    -Wextra
    -Wpedantic
    -Wconversion
    -Wno-sign-conversion
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wno-missing-field-initializers) # Options structs are filled by designated initialisers.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wshadow: clang's also objects to locals named like a letter of the rules' alphabet (`g`, `x`).
  # The other two: false reports at -O2 in std::string and std::optional; clang finds the real ones.
  list(APPEND KILN_WARNINGS -Wshadow -Wno-restrict -Wno-maybe-uninitialized)
else()
  # clang reports what std::stable_sort of libstdc++ 12 uses inside.
  list(APPEND KILN_WARNINGS -Wno-deprecated-declarations)
endif()
if(KILN_WERROR)
  list(APPEND KILN_WARNINGS -Werror)
endif()

find_program(KILN_CCACHE ccache)
if(KILN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KILN_CCACHE})
endif()

find_program(KILN_MOLD mold)
find_program(KILN_LLD NAMES ld.lld-19 ld.lld)
if(KILN_MOLD)
  add_link_options(-fuse-ld=mold)
elseif(KILN_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(--ld-path=${KILN_LLD})
endif()

if(KILN_SANITIZE)
  add_compile_options(-fsanitize=${KILN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${KILN_SANITIZE})
endif()
if(KILN_BUILD_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KILN_BUILD_FUZZ needs clang (libFuzzer); use the preset `fuzz`")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
