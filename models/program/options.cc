#include "weft/models/program/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/generate_arguments.h"

namespace weft::program {
namespace {

constexpr int kManyValues = 1'000'000;

}  // namespace

std::string OptionList::label(const std::string& name) { return name.substr(0, name.find(',')); }

std::string OptionList::integer_type(const Range& range) {
  return fmt::format("{}[{}, {}]", kIntegerType, range.low, range.high);
}

std::string OptionList::number_type(const RealRange& range) {
  const RealRange any;
  if (range.low == any.low && range.high == any.high) return kNumberType;
  return fmt::format("{}{}{}, {}{}", kNumberType, range.open_low ? '(' : '[', range.low,
                     range.high == any.high ? "" : fmt::format("{}", range.high),
                     range.open_high || range.high == any.high ? ')' : ']');
}

CLI::Option* OptionList::add(const std::string& name, const std::string& type, Times times,
                             const std::string& help, std::function<void(const std::string&)> use) {
  const std::string what = label(name);
  CLI::Option* option = command_.add_option(
      name,
      [what, use = std::move(use)](const CLI::results_t& values) {
        for (const std::string& value : values) {
          if (value.empty()) {
            throw UsageError(fmt::format(
                "{} is empty: leave it out, or give it a value (an unset variable of the shell?)",
                what));
          }
          try {
            use(value);
          } catch (const ArgumentError& e) {
            throw UsageError(e.what());
          }
        }
        return true;
      },
      help);
  option->type_name(type);
  option->type_size(1);
  switch (times) {
    case Times::once: option->expected(1); break;
    case Times::repeated: option->expected(1)->take_all(); break;
    case Times::list: option->expected(1, kManyValues)->take_all()->allow_extra_args(); break;
  }
  return option;
}

CLI::Option* OptionList::input(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kInputType, Times::once, help, [&to](const std::string& path) { to = path; });
}

CLI::Option* OptionList::inputs(const std::string& name, std::vector<std::string>& to,
                                const std::string& help) {
  return texts(name, to, Times::list, help, kInputType);
}

CLI::Option* OptionList::output(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kOutputType, Times::once, help, [&to, name](const std::string& path) {
    if (path.starts_with("--")) {
      throw ArgumentError(fmt::format(
          "{} is followed by {}, which looks like an option (a file of that name is ./{})",
          label(name), excerpt(path), excerpt(path)));
    }
    to = path;
  });
}

CLI::Option* OptionList::text(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kTextType, Times::once, help, [&to](const std::string& value) { to = value; });
}

CLI::Option* OptionList::texts(const std::string& name, std::vector<std::string>& to, Times times,
                               const std::string& help, const char* type) {
  return add(name, type, times, help, [&to](const std::string& value) { to.push_back(value); });
}

CLI::Option* OptionList::ids(const std::string& name, std::string& to, const std::string& help) {
  return add(name, kIdsType, Times::once, help, [&to, name](const std::string& value) {
    parse_ids(label(name), value);
    to = value;
  });
}

CLI::Option* OptionList::ids(const std::string& name, std::vector<std::string>& to,
                             const std::string& help) {
  return add(name, kIdsType, Times::repeated, help, [&to, name](const std::string& value) {
    parse_ids(label(name), value);
    to.push_back(value);
  });
}

CLI::Option* OptionList::bytes(const std::string& name, std::size_t& to, const std::string& help) {
  return add(name, kBytesType, Times::once, help,
             [&to, name](const std::string& value) { to = parse_bytes(label(name), value); });
}

CLI::Option* OptionList::choice(const std::string& name, const std::vector<std::string>& legal,
                                std::function<void(const std::string&)> use,
                                const std::string& help) {
  return add(name, fmt::format("{}{{{}}}", kChoiceType, fmt::join(legal, "|")), Times::once, help,
             [name, legal, use = std::move(use)](const std::string& value) {
               if (std::find(legal.begin(), legal.end(), value) == legal.end()) {
                 throw ArgumentError(fmt::format("{}: {} not in {{{}}}", label(name),
                                                 excerpt(value), fmt::join(legal, ",")));
               }
               use(value);
             });
}

CLI::Option* OptionList::choice(const std::string& name, const std::vector<std::string>& legal,
                                std::string& to, const std::string& help) {
  return choice(
      name, legal, [&to](const std::string& value) { to = value; }, help);
}

CLI::Option* OptionList::flag(const std::string& name, bool& to, const std::string& help) {
  return command_.add_flag(name, to, help);
}

CLI::Option* OptionList::switches(const std::string& name, std::function<void(bool)> use,
                                  const std::string& help) {
  return command_.add_flag_function(
      name + ",!--no-" + name.substr(2),
      [use = std::move(use)](std::int64_t count) { use(count > 0); }, help);
}

CLI::Option* OptionList::threads(int& to) {
  return integer("--threads", to, {0, 1024}, "0 = all; results do not depend on it");
}

}  // namespace weft::program
