framewire_test(control SOURCES
  control_address_test.cpp control_authenticate_test.cpp control_dial_stop_test.cpp control_json_fields_test.cpp
  control_key_file_test.cpp control_listener_test.cpp control_message_channel_test.cpp control_preamble_test.cpp
  control_tcp_options_test.cpp control_tls_psk_test.cpp control_tls_test.cpp control_token_test.cpp
  endpoint_options_test.cpp ../base/silent_peers.cpp
  DEPENDS framewire_control OpenSSL::SSL OpenSSL::Crypto nlohmann_json::nlohmann_json)
framewire_test(control_cli SOURCES control_cli_test.cpp DEPENDS framewire_base)
target_compile_definitions(test_control_cli PRIVATE FRAMEWIRE_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_dependencies(test_control_cli framewire framewire-key)
