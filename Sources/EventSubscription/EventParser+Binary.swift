import MixModel
import TextFormats

extension EventParser {
    /// Reads one event in CloudEvents' binary mode: attributes in headers `ce-…`, `data` in the body (HTTP protocol
    /// binding 1.0, section 3.1). Headers with other names are ignored.
    ///
    /// - Parameter body: Empty when the event has no data.
    public func binaryEvent(
        headers: some Sequence<(name: String, value: String)>, body: [UInt8], apps: AppRule = .any([])
    ) throws(InputError) -> RoomEvent {
        var attributes: [String: JSONValue] = [:]
        for (name, value) in headers {
            let name = name.lowercased()
            if name == "content-type" {
                attributes["datacontenttype"] = .string(value)
            } else if name.hasPrefix("ce-") {
                attributes[String(name.dropFirst(3))] = .string(try Self.decode(value, field: name))
            }
        }
        if body.isEmpty { attributes["datacontenttype"] = nil }
        // The data is the body, regardless of the headers.
        attributes["data_base64"] = nil
        attributes["data"] = body.isEmpty ? nil : try JSONValue(parsing: body)
        do {
            return try cloudEvent(.object(attributes), apps: apps)
        } catch {
            var error = error
            switch error.field.splitAtFirst(".")?.head ?? error.field[...] {
            case "data": break
            case "datacontenttype": error.field = "Content-Type"
            default: error.field = "ce-" + error.field
            }
            throw error
        }
    }

    /// Decodes a header's value according to section 3.1.3.2: removes quotes, then percent-decodes once, as UTF-8.
    static func decode(_ value: String, field: String) throws(InputError) -> String {
        var bytes = Array(value.utf8)
        if bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") {
            bytes = unquoted(bytes.dropFirst().dropLast())
        }
        guard bytes.contains(UInt8(ascii: "%")) else {
            return try checked(String(decoding: bytes, as: UTF8.self), field: field)
        }
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { throw InputError(.invalidField, field: field, expected: "two hexadecimal digits after each %") }
            decoded.append(high << 4 | low)
        }
        guard let text = String(validating: decoded, as: UTF8.self) else {
            throw InputError(.invalidField, field: field, expected: "UTF-8, percent-encoded")
        }
        return try checked(text, field: field)
    }

    /// Applies the limit on combining marks that JSON strings have.
    private static func checked(_ text: String, field: String) throws(InputError) -> String {
        guard !text.hasTooManyMarks else {
            throw InputError(
                .invalidField, field: field, expected: "at most \(String.mostMarksInARow) combining marks in a row")
        }
        return text
    }

    /// Resolves `\"` and `\\` in a quoted string (RFC 9110, section 5.6.4).
    private static func unquoted(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
            } else {
                result.append(byte)
                isEscaped = false
            }
        }
        return result
    }
}
