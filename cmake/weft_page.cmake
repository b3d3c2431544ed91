# Embeds the page of the server, models/serve/http/page.html, in a library (models/serve/http/page.h).

# weft_page_hash(text tag result): sets `result` to 'sha256-BASE64' of the contents of the element <tag>, as browsers compute it.
function(weft_page_hash text tag result)
  string(FIND "${text}" "<${tag}>" begin)
  string(FIND "${text}" "</${tag}>" end)
  string(LENGTH "<${tag}>" length)
  math(EXPR begin "${begin} + ${length}")
  math(EXPR length "${end} - ${begin}")
  if(length LESS_EQUAL 0)
    message(FATAL_ERROR "models/serve/http/page.html has no element <${tag}>")
  endif()
  string(SUBSTRING "${text}" ${begin} ${length} contents)
  string(SHA256 digits "${contents}")
  # Three hexadecimal digits are two digits of base 64. 256 bits are 43 of them, and "=" is the padding.
  set(base64 ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(hash "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING "${digits}00" ${at} 3 three)
    foreach(shift 6 0)
      math(EXPR digit "(0x${three} >> ${shift}) & 63")
      string(SUBSTRING ${base64} ${digit} 1 digit)
      string(APPEND hash ${digit})
    endforeach()
  endforeach()
  string(SUBSTRING ${hash} 0 43 hash)
  set(${result} "'sha256-${hash}='" PARENT_SCOPE)
endfunction()

# weft_page(target): adds a source with page() and page_policy() to a target.
function(weft_page target)
  set(html ${PROJECT_SOURCE_DIR}/models/serve/http/page.html)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${html})
  file(READ ${html} text)
  weft_page_hash("${text}" script script)
  weft_page_hash("${text}" style style)
  string(CONCAT policy "default-src 'none'; script-src ${script}; style-src ${style}; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
  set(source ${PROJECT_BINARY_DIR}/generated/page.cc)
  string(CONCAT code "#include \"weft/models/serve/http/page.h\"\n\nnamespace weft {\n\n"
    "std::string_view page() {\n  return R\"page(${text})page\";\n}\n\n"
    "std::string_view page_policy() {\n  return R\"page(${policy})page\";\n}\n\n}  // namespace weft\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "@code@" @ONLY)  # names between two @ in the page are not replaced
  target_sources(${target} PRIVATE ${source})
endfunction()
