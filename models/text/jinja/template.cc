#include "weft/models/text/jinja/template.h"

#include <utility>

#include "weft/models/text/jinja/interpreter.h"
#include "weft/models/text/jinja/parser.h"
#include "weft/models/text/jinja/run.h"

namespace weft::chat {

Template::Template(std::shared_ptr<const ParsedTemplate> parsed) : parsed_(std::move(parsed)) {}

Template Template::parse(std::string_view source) {
  return Template(std::make_shared<const ParsedTemplate>(parse_template(source)));
}

bool Template::marks_generation() const { return parsed_->marks_generation; }

TracedText Template::render(const Mapping& variables, const TemplateLimits& limits,
                            const std::tm& now) const {
  Run run(limits, now);
  return interpret(*parsed_, variables, run);
}

}  // namespace weft::chat
