// The fixtures in tests/fixtures/chat, which are written by make.py in that folder.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/jinja/value.h"

namespace weft::testing {

using ChatJson = nlohmann::ordered_json;

/// Returns the bytes of a fixture.
std::string chat_fixture(const std::string& name);
/// Returns the JSON objects in a fixture that has one object per line.
std::vector<ChatJson> chat_fixture_lines(const std::string& name);
/// Converts JSON to a template value.
chat::Value chat_value(const ChatJson& json);
chat::Mapping chat_mapping(const ChatJson& json);
/// Returns 26 July 2024, 09:05:03, the time at which the fixtures were created.
std::tm chat_time();

}  // namespace weft::testing
