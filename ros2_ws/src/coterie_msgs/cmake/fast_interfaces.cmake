# Two macros that make the build of interface packages take a fraction of the time: of coterie_msgs, and of the stand-ins below
# compat. Call the first before rosidl_generate_interfaces(), the second after it.

set(COTERIE_GENERATE "${CMAKE_CURRENT_LIST_DIR}/generate.py")

macro(coterie_fast_generators)
  # Nothing of Coterie is written in C++: where ROS comes from wheels, its generators for C++ are left out, which halves the build.
  # Beside an installed ROS they stay, for the nodes of others.
  if(COTERIE_ROS_FROM_WHEELS)
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
  endif()

  # Generators parse every interface and read their templates for each anew, most of their time; generate.py does it once.
  foreach(generator
      rosidl_generator_type_description rosidl_generator_c rosidl_generator_cpp rosidl_generator_py
      rosidl_typesupport_c rosidl_typesupport_fastrtps_c rosidl_typesupport_introspection_c
      rosidl_typesupport_cpp rosidl_typesupport_fastrtps_cpp rosidl_typesupport_introspection_cpp)
    if(DEFINED ${generator}_BIN)
      set(${generator}_BIN "${COTERIE_GENERATE};${${generator}_BIN}")
    endif()
  endforeach()
endmacro()

macro(coterie_fast_compiling)
  # The generated files include much and do little; compiled in batches they take a fraction of the time. Not the introspection
  # for C++: its specialisations must come before their uses.
  foreach(kind
      rosidl_generator_c
      rosidl_generator_py
      rosidl_typesupport_c
      rosidl_typesupport_cpp
      rosidl_typesupport_fastrtps_c
      rosidl_typesupport_fastrtps_cpp
      rosidl_typesupport_introspection_c)
    if(TARGET ${PROJECT_NAME}__${kind})
      set_target_properties(${PROJECT_NAME}__${kind} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
      target_compile_options(${PROJECT_NAME}__${kind} PRIVATE -Wno-redundant-decls)
      # All descriptions have constants of the same names.
      get_target_property(sources ${PROJECT_NAME}__${kind} SOURCES)
      list(FILTER sources INCLUDE REGEX "__description\\.c$")
      set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endmacro()
