#include "weft/serialization/files/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/byte_order_mark.h"
#include "weft/serialization/files/foreign_file.h"

namespace weft {
namespace {

using nlohmann::json;

/// Builds the tree from parser events. The library's own builder merges duplicate keys and has no
/// limits.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  TreeBuilder(int max_depth, JsonLists* lists) : max_depth_(max_depth), lists_(lists) {}

  json root;
  std::string error;
  std::size_t error_at = 0;   // byte offset of the error
  bool error_placed = false;  // true if error_at is set

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override {
    if (list_ == List::score) return add_score(static_cast<double>(value));
    return list_ == List::table ? add_number(value) : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == List::score) return add_score(static_cast<double>(value));
    if (list_ != List::table) return add(value);
    return std::in_range<std::int64_t>(value) ? add_number(static_cast<std::int64_t>(value))
                                              : stop_list();
  }
  bool number_float(number_float_t value, const string_t&) override {
    return list_ == List::score ? add_score(value) : add(value);
  }
  bool string(string_t& value) override {
    if (list_ == List::pairs) {
      lists_->pairs.emplace_back(std::move(value), std::string());
      return true;
    }
    if (list_ == List::pair) {
      if (parts_ == 2) return stop_list();
      auto& [first, second] = lists_->pairs.back();
      (parts_++ == 0 ? first : second) = std::move(value);
      return true;
    }
    if (list_ == List::score) {
      if (parts_++ != 0) return stop_list();
      lists_->scores.back().first = std::move(value);
      return true;
    }
    return add(std::move(value));
  }
  bool binary(binary_t&) override { return stop("it contains binary data"); }
  bool start_object(std::size_t) override {
    if (list_ != List::none) return stop_list();
    if (lists_ != nullptr && is_at(lists_->table_path)) {
      list_ = List::table;
      lists_->table_found = true;
      if (open_.empty()) root = json::object();
      return true;
    }
    return open(json::object());
  }
  bool start_array(std::size_t) override {
    if (list_ == List::pairs) {
      lists_->pairs.emplace_back();
      list_ = List::pair;
      parts_ = 0;
      return true;
    }
    if (list_ == List::scores) {
      lists_->scores.emplace_back();
      list_ = List::score;
      parts_ = 0;
      return true;
    }
    if (list_ != List::none) return stop_list();
    if (lists_ != nullptr && is_at(lists_->pairs_path)) {
      list_ = List::pairs;
      lists_->pairs_found = true;
      return true;
    }
    if (lists_ != nullptr && is_at(lists_->scores_path)) {
      list_ = List::scores;
      lists_->scores_found = true;
      return true;
    }
    return open(json::array());
  }
  bool end_object() override {
    if (list_ != List::table) return close();
    list_ = List::none;
    return true;
  }
  bool end_array() override {
    if (list_ == List::none) return close();
    const bool whole = list_ == List::pair    ? parts_ == 2 && !lists_->pairs.back().second.empty()
                       : list_ == List::score ? parts_ == 2
                                              : true;
    if (!whole) return stop_list();
    list_ = list_ == List::pair ? List::pairs : list_ == List::score ? List::scores : List::none;
    return true;
  }
  bool key(string_t& key) override {
    if (list_ == List::table) {
      lists_->table.emplace_back(std::move(key), 0);
      return true;
    }
    auto& object = open_.back().value->get_ref<json::object_t&>();
    const auto [place, fresh] = object.try_emplace(std::move(key), nullptr);
    if (!fresh) return stop(fmt::format("the key '{}' occurs twice", excerpt(place->first)));
    key_ = &place->first;
    slot_ = &place->second;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& e) override {
    error_at = position > 0 ? position - 1 : 0;
    error_placed = true;
    return stop(json_reason(e));
  }

 private:
  bool stop(std::string what) {
    error = std::move(what);
    return false;
  }
  // The list that is being read, if any. Elements of the list are not added to the tree.
  enum class List : std::uint8_t { none, table, pairs, pair, scores, score };
  bool add_score(double value) {
    if (parts_++ != 1) return stop_list();
    lists_->scores.back().second = value;
    return true;
  }
  bool add_number(std::int64_t value) {
    lists_->table.back().second = value;
    return true;
  }
  bool stop_list() {
    if (list_ == List::table) {
      return stop(fmt::format("'{}' must contain integers, but '{}' is not one",
                              *lists_->table_path,
                              lists_->table.empty() ? "" : excerpt(lists_->table.back().first)));
    }
    if (list_ == List::scores || list_ == List::score) {
      return stop(
          fmt::format("'{}' must contain pairs of a string and a number, but element {} is not one",
                      *lists_->scores_path, lists_->scores.size()));
    }
    return stop(
        fmt::format("'{}' must contain strings or pairs of strings, but element {} is neither",
                    *lists_->pairs_path, lists_->pairs.size()));
  }
  /// Returns true if the value that begins now is at the path `wanted`.
  bool is_at(const std::optional<std::string>& wanted) const {
    if (!wanted) return false;
    const std::string_view path = *wanted;
    if (open_.empty()) return path.empty();
    if (path.empty() || open_.size() > 2 || !open_.back().value->is_object()) return false;
    if (open_.size() == 1) return path == *key_;
    const std::string* outer = open_.back().key;
    return outer != nullptr && path.size() == outer->size() + 1 + key_->size() &&
           path.starts_with(*outer) && path[outer->size()] == '.' && path.ends_with(*key_);
  }

  json* place(json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(*slot_ = std::move(value));
  }
  bool add(json value) {
    if (list_ != List::none) return stop_list();
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (static_cast<int>(open_.size()) >= max_depth_)
      return stop(fmt::format("it is nested more than {} levels deep", max_depth_));
    const bool has_key = !open_.empty() && open_.back().value->is_object();
    const std::string* key = has_key ? key_ : nullptr;
    open_.push_back({place(std::move(value)), key});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  struct Open {
    json* value;
    const std::string* key;  // key in the enclosing object; null in an array
  };

  const int max_depth_;
  JsonLists* const lists_;
  std::vector<Open> open_;
  const std::string* key_ = nullptr;  // the most recent key
  json* slot_ = nullptr;              // where the value of key_ is stored
  List list_ = List::none;
  int parts_ = 0;  // elements of the current pair so far
};

std::string place_in(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last = before.rfind('\n');
  const std::size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return fmt::format("line {}, column {} (byte {})", line, column, before.size());
}

json build_tree(std::string_view text, std::string_view what, const JsonLimits& limits,
                JsonLists* lists) {
  if (text.size() > limits.max_bytes) {
    throw FormatError(
        fmt::format("{} has {} bytes; the limit is {}", what, text.size(), limits.max_bytes));
  }
  text.remove_prefix(byte_order_mark(text, what));
  TreeBuilder builder(limits.max_depth, lists);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) {
    if (text.find_first_of("{[") != text.find_first_not_of(" \t\r\n"))
      builder.error += foreign_hint(text);
    throw FormatError(builder.error_placed
                          ? fmt::format("{} is not valid JSON at {}: {}", what,
                                        place_in(text, builder.error_at), builder.error)
                          : fmt::format("{} cannot be read as JSON: {}", what, builder.error));
  }
  return std::move(builder.root);
}

json checked_object(json parsed, std::string_view what) {
  if (!parsed.is_object()) {
    throw FormatError(fmt::format("{} is not a JSON object but {}", what, json_excerpt(parsed)));
  }
  return parsed;
}

std::size_t most_keys(const json& value) {
  std::size_t most = value.is_object() ? value.size() : 0;
  if (value.is_structured()) {
    for (const json& item : value) most = std::max(most, most_keys(item));
  }
  return most;
}

}  // namespace

json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  return build_tree(text, what, limits, nullptr);
}

json parse_json_object(std::string_view text, std::string_view what, const JsonLimits& limits) {
  return checked_object(build_tree(text, what, limits, nullptr), what);
}

json parse_json_object(std::string_view text, std::string_view what, JsonLists& lists,
                       const JsonLimits& limits) {
  return checked_object(build_tree(text, what, limits, &lists), what);
}

nlohmann::ordered_json in_order(const json& parsed, std::string_view text, std::string_view what) {
  constexpr std::size_t kMostKeys = 1024;
  if (const std::size_t keys = most_keys(parsed); keys > kMostKeys) {
    throw FormatError(
        fmt::format("{} has an object with {} keys; the limit is {}", what, keys, kMostKeys));
  }
  return nlohmann::ordered_json::parse(text);
}

std::string json_reason(const json::exception& e) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: ...". The message quotes the
  // last token, which may be the whole text.
  std::string_view why = e.what();
  if (const std::size_t end = why.find("] "); end != std::string_view::npos)
    why.remove_prefix(end + 2);
  if (const std::size_t end = why.find(": ");
      why.starts_with("parse error at") && end != std::string_view::npos)
    why.remove_prefix(end + 2);
  return excerpt(why, 160);
}

std::string json_excerpt(const json& value) {
  return excerpt(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace weft
