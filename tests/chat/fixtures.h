// The fixtures of tests/fixtures/chat, as make.py there writes them.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/chat/template/value.h"

namespace weft::testing {

using ChatJson = nlohmann::ordered_json;

/// The bytes of a fixture.
std::string chat_fixture(const std::string& name);
/// The lines of one.
std::vector<ChatJson> chat_fixture_lines(const std::string& name);
/// A value as templates see it.
chat::Value chat_value(const ChatJson& json);
chat::Mapping chat_mapping(const ChatJson& json);
/// 26 July 2024, 09:05:03: when the fixtures were made.
std::tm chat_time();

}  // namespace weft::testing
