// The reference source: budgets of compile times are in multiples of the CPU time that this file
// takes, because machines differ in speed. It uses what most sources of Weft use. Do not change it:
// a change moves all compile times.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace reference {

using Value = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>,
                           std::vector<std::string>>;

std::string text(const Value& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

struct Node {
  std::string name;
  std::map<std::string, Value, std::less<>> attributes;
  std::vector<std::shared_ptr<Node>> inputs;
};

std::vector<Node*> sorted(const std::shared_ptr<Node>& root) {
  std::vector<Node*> order;
  std::unordered_map<Node*, bool> done;
  const std::function<void(Node*)> visit = [&](Node* node) {
    if (!done.emplace(node, true).second) return;
    for (const std::shared_ptr<Node>& input : node->inputs) visit(input.get());
    order.push_back(node);
  };
  visit(root.get());
  std::stable_sort(order.begin(), order.end(), [](const Node* a, const Node* b) {
    return a->inputs.size() < b->inputs.size();
  });
  return order;
}

std::string print(const std::shared_ptr<Node>& root) {
  std::string out;
  for (const Node* node : sorted(root)) {
    std::vector<std::string> inputs;
    std::transform(node->inputs.begin(), node->inputs.end(), std::back_inserter(inputs),
                   [](const std::shared_ptr<Node>& input) { return input->name; });
    out += fmt::format("{} = ({})", node->name, fmt::join(inputs, ", "));
    for (const auto& [name, value] : node->attributes)
      out += fmt::format(" {}={}", name, text(value));
    out += '\n';
  }
  return out;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1},
                         [](std::int64_t a, std::int64_t b) {
                           if (b != 0 && a > INT64_MAX / b)
                             throw std::overflow_error(fmt::format("{} * {} overflows", a, b));
                           return a * b;
                         });
}

}  // namespace reference
