# Finds the Z3 solver (tests only) as Z3::Z3. Debian ships no CMake configuration for it.
find_path(Z3_INCLUDE_DIR z3++.h)
find_library(Z3_LIBRARY z3)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Z3 REQUIRED_VARS Z3_LIBRARY Z3_INCLUDE_DIR)
if(Z3_FOUND AND NOT TARGET Z3::Z3)
  add_library(Z3::Z3 UNKNOWN IMPORTED)
  set_target_properties(Z3::Z3 PROPERTIES IMPORTED_LOCATION ${Z3_LIBRARY}
                                          INTERFACE_INCLUDE_DIRECTORIES ${Z3_INCLUDE_DIR})
endif()
mark_as_advanced(Z3_INCLUDE_DIR Z3_LIBRARY)
