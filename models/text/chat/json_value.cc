#include "weft/models/text/chat/json_value.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace weft {
chat::Value template_value(const nlohmann::ordered_json& json, const Origin& origin) {
  using Json = nlohmann::ordered_json;
  switch (json.type()) {
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max())
        return json.get<std::int64_t>();
      return json.get<double>();
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return chat::text_value(json.get<std::string>(), origin);
    case Json::value_t::array: {
      chat::Sequence sequence;
      for (const Json& item : json) {
        sequence.items.push_back(template_value(item, origin));
        const chat::Value& last = sequence.items.back();
        sequence.depth = std::max(sequence.depth, chat::depth_of(last) + 1);
      }
      return std::make_shared<const chat::Sequence>(std::move(sequence));
    }
    case Json::value_t::object: {
      chat::Mapping mapping;
      for (const auto& [key, value] : json.items()) {
        chat::Value converted = template_value(value, origin);
        mapping.depth = std::max(mapping.depth, chat::depth_of(converted) + 1);
        mapping.entries.emplace_back(std::make_shared<const chat::TracedText>(key, origin),
                                     std::move(converted));
      }
      return std::make_shared<const chat::Mapping>(std::move(mapping));
    }
    default: return chat::None();
  }
}

}  // namespace weft
