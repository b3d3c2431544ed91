#include "weft/serialization/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"

namespace weft {
namespace {

using nlohmann::json;

/// Builds the tree event by event: the parser's own builder merges equal keys and knows no bound.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  explicit TreeBuilder(int most_depth) : most_depth_(most_depth) {}

  json root;
  std::string error;         // what is wrong
  std::size_t error_at = 0;  // the byte, where it is known
  bool error_placed = false;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return stop("it holds binary data"); }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    auto& object = open_.back()->get_ref<json::object_t&>();
    const auto [place, fresh] = object.try_emplace(std::move(key), nullptr);
    if (!fresh) return stop(fmt::format("the key '{}' occurs twice", excerpt(place->first)));
    slot_ = &place->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": the place is said
    // by who reports, and what was last read may be the whole text.
    std::string_view why = e.what();
    if (const std::size_t end = why.find("] "); end != std::string_view::npos)
      why.remove_prefix(end + 2);
    if (const std::size_t end = why.find(": ");
        why.starts_with("parse error at") && end != std::string_view::npos)
      why.remove_prefix(end + 2);
    error_at = position > 0 ? position - 1 : 0;
    error_placed = true;
    return stop(excerpt(why, 160));
  }

 private:
  bool stop(std::string what) {
    error = std::move(what);
    return false;
  }
  json* place(json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(*slot_ = std::move(value));
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (static_cast<int>(open_.size()) >= most_depth_)
      return stop(fmt::format("it nests more than {} deep", most_depth_));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const int most_depth_;
  std::vector<json*> open_;
  json* slot_ = nullptr;  // of the value that the last key is for
};

std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last = before.rfind('\n');
  const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return fmt::format("line {}, column {} (byte {})", line, column, before.size());
}

}  // namespace

json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  if (text.size() > limits.most_bytes) {
    throw FormatError(
        fmt::format("{} has {} bytes; the limit is {}", what, text.size(), limits.most_bytes));
  }
  TreeBuilder builder(limits.most_depth);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    throw FormatError(
        builder.error_placed
            ? fmt::format("{} is not valid JSON at {}: {}", what, place_in(text, builder.error_at),
                          builder.error)
            : fmt::format("{} is not JSON that can be read: {}", what, builder.error));
  }
  return std::move(builder.root);
}

json parse_json_object(std::string_view text, std::string_view what, const JsonLimits& limits) {
  json parsed = parse_json(text, what, limits);
  if (!parsed.is_object()) {
    throw FormatError(fmt::format("{} is not a JSON object but {}", what, json_excerpt(parsed)));
  }
  return parsed;
}

std::string json_excerpt(const json& value) {
  return excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace weft
