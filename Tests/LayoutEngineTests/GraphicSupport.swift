import Foundation
import FoundationXML
import Testing

/// The result of parsing a drawing with an XML parser.
struct ParsedSVG {
    /// Names of the elements, in the order of their start tags.
    var elements: [String] = []
    /// Attributes in the same order.
    var attributes: [[String: String]] = []
    /// Content of the `text` elements.
    var texts: [String] = []

    /// Parses a drawing. Records an issue if the text is not well-formed.
    init(_ svg: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let reader = Reader()
        let parser = XMLParser(data: Data(svg.utf8))
        parser.delegate = reader
        if !parser.parse() {
            Issue.record(
                "not well-formed: \(parser.parserError.map(String.init(describing:)) ?? "?") in \(svg.prefix(2000))",
                sourceLocation: sourceLocation)
        }
        self = reader.result
    }

    private init() {}

    private final class Reader: NSObject, XMLParserDelegate {
        var result = ParsedSVG()
        private var isText = false

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            result.elements.append(name)
            result.attributes.append(attributes)
            isText = name == "text"
            if isText { result.texts.append("") }
        }

        func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
            isText = false
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            if isText { result.texts[result.texts.count - 1] += text }
        }
    }
}

/// Names that have broken other software.
let difficultNames = [
    "", " ", "x", "<&>\"'\u{0}\u{1}\u{7F}\u{85}\u{FFFE}\u{FFFF}\u{1FFFE} ]]>", "&amp;<script>", "Bobby \n\r\t Tables",
    "Bartholomew Maximilian von Hohenstaufen-Wittelsbach zu Sachsen-Coburg und Gotha", "王小明", "山田太郎 (やまだ たろう)",
    "محمد علي بن عبد الله", "יעל כהן", "👨‍👩‍👧‍👦 🇩🇪 👍🏽", "e" + String(repeating: "\u{301}", count: 5000), "\u{202E}evil\u{202D}",
    "\u{200D}\u{FEFF}\u{200B}", String(repeating: "W", count: 100_000), String(repeating: "界", count: 3000),
    String(repeating: " ", count: 3000),
]
