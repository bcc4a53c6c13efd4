import MixModel
import TextFormats

/// Parsing of publications whose stream is a web page.
extension EventParser {
    private enum Kind: String, CaseIterable { case stream, page }

    /// Reads the page of a publication; `nil` if it is not a page. `kind` distinguishes the two, or `meetingURL` in
    /// place of `url`.
    func page(_ data: inout FieldReader) throws(InputError) -> PageSource? {
        let kind = try data.choice("kind", of: Kind.self)
        let meeting = try data.string("meetingURL", expected: "the URL of a page")
        guard kind == .page || (kind == nil && meeting != nil) else {
            guard meeting == nil else { throw data.invalid("meetingURL", nil, "kind: page") }
            return nil
        }
        let field = meeting == nil ? "url" : "meetingURL"
        let given = try data.string("url", expected: "the URL of a page")
        if meeting != nil, given != nil { throw data.invalid("url", nil, "no url beside meetingURL") }
        guard let text = meeting ?? given else {
            throw InputError(.missingField, field: data.path(of: "url"), expected: "the URL of the page")
        }
        var page = PageSource(url: text)
        try check(page, field: data.path(of: field))
        page.width = try data.integer("width", in: PageSource.sizes)
        page.height = try data.integer("height", in: PageSource.sizes)
        for (key, value) in [("width", page.width), ("height", page.height)] {
            guard let value, value % 2 != 0 else { continue }
            throw data.invalid(key, .number(Double(value)), "an even number")
        }
        page.frameRate = try data.integer("frameRate", in: PageSource.frameRates)
        page.ready = try Self.readiness(&data)
        page.end = try Self.ending(&data)
        page.parameters = try Self.parameters(&data)
        page.token = try data.string("token", expected: "the page's token")
        if let token = page.token, !(1...PageSource.longestValue ~= token.utf8.count) {
            // Not quoted: it is a secret.
            throw data.invalid("token", nil, "1 to \(PageSource.longestValue) bytes")
        }
        return page
    }

    /// Checks the address. The part after `#` belongs to the page, and has no meaning to other software.
    private func check(_ page: PageSource, field: String) throws(InputError) {
        guard page.url.utf8.count <= StreamURL.longest, page.url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InputError(
                .invalidField, field: field,
                expected: "at most \(StreamURL.longest) bytes of printable ASCII, everything else percent-encoded")
        }
        _ = try allowList.check(page.placeURL, schemes: [.http, .https], field: field, setting: "sources.allow")
    }

    private static func readiness(_ data: inout FieldReader) throws(InputError) -> PageReadiness {
        guard let text = try data.string("ready", expected: "\"painted\", \"console\", or a JavaScript expression")
        else {
            return .painted
        }
        switch text {
        case "painted": return .painted
        case "console": return .console
        default:
            return .expression(try expression(text, "ready", data))
        }
    }

    private static func ending(_ data: inout FieldReader) throws(InputError) -> PageEnding? {
        guard let text = try data.string("end", expected: "\"never\", \"console\", or a JavaScript expression") else {
            return nil
        }
        switch text {
        case "never": return .never
        case "console": return .console
        default: return .expression(try expression(text, "end", data))
        }
    }

    private static func expression(
        _ text: String, _ field: String, _ data: FieldReader
    ) throws(InputError) -> String {
        guard 1...PageSource.longestExpression ~= text.utf8.count else {
            throw data.invalid(field, .string(text), "1 to \(PageSource.longestExpression) bytes")
        }
        return text
    }

    private static func parameters(_ data: inout FieldReader) throws(InputError) -> [PageSource.Parameter] {
        guard let value = data.value("parameters") else { return [] }
        let expected =
            "an object of at most \(PageSource.mostParameters) texts, with names of 1 to \(PageSource.longestName) bytes "
            + "and values of at most \(PageSource.longestValue)"
        guard case .object(let fields) = value, fields.count <= PageSource.mostParameters else {
            throw data.invalid("parameters", nil, expected)
        }
        var parameters: [PageSource.Parameter] = []
        for (name, value) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            // Values are not quoted: they may be secrets.
            guard case .string(let text) = value, 1...PageSource.longestName ~= name.utf8.count,
                text.utf8.count <= PageSource.longestValue
            else { throw data.invalid("parameters", nil, expected) }
            parameters.append(PageSource.Parameter(name: name, value: text))
        }
        return parameters
    }
}
