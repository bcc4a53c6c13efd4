import LayoutEngine
import Testing

/// The line on the card of a stream that has stalled.
struct CardNoticeTests {
    private static let card = Card(name: "Ada Lovelace", user: "ada")
    private static let text = "Reconnecting…"

    private func pane(_ width: Int, _ height: Int, label: Label? = nil, reconnecting: String? = nil) -> Pane {
        Pane(
            source: "ada/camera", user: "ada", x: 0, y: 0, width: width, height: height, label: label,
            fallback: .card, card: Self.card, reconnecting: reconnecting)
    }

    private func texts(_ pane: Pane) -> [String] {
        let notice = Card.Notice(of: pane, height: pane.height)
        return ParsedSVG(pane.card.svg(width: pane.width, height: pane.height, notice: notice)).texts
    }

    @Test func theCardSaysThatItsStreamIsReconnecting() {
        #expect(texts(pane(360, 640)) == ["AL", "Ada Lovelace", Self.text])
        #expect(texts(pane(320, 180)) == ["AL", "Ada Lovelace", Self.text])
        #expect(texts(pane(320, 80)) == ["AL", "Ada Lovelace", Self.text], "beside the circle")
        #expect(texts(pane(360, 640, reconnecting: "Wird neu verbunden <&>")).last == "Wird neu verbunden <&>")
        // A label already shows the name.
        #expect(texts(pane(320, 180, label: Label(text: "Ada", size: 16))) == ["AL", Self.text])
        #expect(texts(pane(320, 100, label: Label(text: "Ada", size: 12))) == ["AL", Self.text])
    }

    /// Without room for it in legible letters, the card is as without a notice.
    @Test func aNoticeThatDoesNotFitIsLeftOut() {
        for (width, height) in [(40, 40), (90, 160), (120, 68), (130, 48), (2, 2), (2, 720), (1280, 2)] {
            let svg = Self.card.svg(width: width, height: height, notice: Card.Notice(text: Self.text))
            #expect(svg == Self.card.svg(width: width, height: height), "\(width)×\(height)")
        }
        let long = String(repeating: "Please wait ", count: 20)
        #expect(texts(pane(360, 640, reconnecting: long)) == ["AL", "Ada Lovelace"])
        #expect(texts(pane(360, 640, reconnecting: " \n ")) == ["AL", "Ada Lovelace"])
        // The label leaves too little.
        #expect(texts(pane(160, 90, label: Label(text: "Ada", size: 15, style: .pill))).last != Self.text)
    }

    @Test func anEmptyTextAndAPaneOfNobodyHaveNoNotice() {
        #expect(Card.Notice(of: pane(360, 640, reconnecting: ""), height: 640) == nil)
        #expect(Card.Notice(of: pane(360, 640), height: 640) == Card.Notice(text: Self.text))
        var nobody = pane(360, 640)
        nobody.user = ""
        #expect(Card.Notice(of: nobody, height: 640) == nil)
    }

    /// A card is drawn smaller than a large pane, and its label is not.
    @Test func theSpaceOfTheLabelIsInPixelsOfTheCard() {
        let bar = pane(1920, 1080, label: Label(text: "Ada", size: 30))
        #expect(Card.Notice(of: bar, height: 1080) == Card.Notice(text: Self.text, bottom: 60))
        #expect(Card.Notice(of: bar, height: 720) == Card.Notice(text: Self.text, bottom: 40))
        let top = pane(1920, 1080, label: Label(text: "Ada", edge: .top, size: 30, style: .pill))
        #expect(Card.Notice(of: top, height: 1080) == Card.Notice(text: Self.text, top: 80))
    }

    /// The lines are inside the card, apart from the circle, the label and each other, and at least 11 pixels high.
    @Test(arguments: [0, 30, -30]) func theNoticeIsLegibleAtEverySize(label: Int) throws {
        var shown = 0
        for width in stride(from: 40, through: 1280, by: 31) {
            for height in stride(from: 40, through: 1280, by: 29) {
                let notice = Card.Notice(text: Self.text, top: max(-label, 0), bottom: max(label, 0))
                let parsed = ParsedSVG(Self.card.svg(width: width, height: height, notice: notice))
                guard parsed.texts.last == Self.text else { continue }
                shown += 1
                let number = { (attributes: [String: String], name: String) in Double(attributes[name] ?? "") ?? -1 }
                let comment: Comment = "\(width)×\(height)"
                let texts = zip(parsed.elements, parsed.attributes).filter { $0.0 == "text" }.map(\.1)
                let circle = try #require(zip(parsed.elements, parsed.attributes).first { $0.0 == "circle" }?.1)
                let (x, y, radius) = (number(circle, "cx"), number(circle, "cy"), number(circle, "r"))
                #expect(y - radius >= Double(notice.top) && x - radius >= 0, comment)
                #expect(texts.count == (label == 0 ? 3 : 2) && parsed.texts.first == "AL", comment)
                var above = y + radius
                for line in texts.dropFirst() {
                    let (baseline, size) = (number(line, "y"), number(line, "font-size"))
                    let isBeside = line["text-anchor"] == "start"
                    #expect(size >= 11, comment)
                    #expect(isBeside ? number(line, "x") >= x + radius : baseline - size * 0.75 >= above, comment)
                    above = baseline
                }
                let (baseline, size) = (
                    number(texts[texts.count - 1], "y"), number(texts[texts.count - 1], "font-size")
                )
                #expect(baseline + size / 4 <= Double(height - notice.bottom), comment)
            }
        }
        #expect(shown > 800, "\(shown)")
    }

    /// Viewers of every shipped layout can read it, in panes of a ninth of the canvas and more.
    @Test(arguments: GoldenSceneTests.shippedNames + [LayoutLibrary.automaticName], [Canvas.portrait, .landscape])
    func everyLayoutShowsTheNotice(name: String, canvas: Canvas) throws {
        let template = try #require(GoldenSceneTests.shipped()[name])
        for count in 1...9 {
            let scene = LayoutEngine.plan(
                template, participants: GoldenSceneTests.crowd(count, for: name), canvas: canvas)
            for pane in scene.panes where pane.isLive && pane.width >= 200 && pane.height >= 150 {
                #expect(texts(pane).last == Self.text, "\(count): \(pane.width)×\(pane.height)")
            }
        }
    }

    @Test func layoutsSetTheText() throws {
        func scene(_ fallback: String, params: String = "") throws -> Scene {
            let file = #"{\#(params) "fallback": {\#(fallback)}, "arrangements": [{"algorithm": "solo"}]}"#
            return LayoutEngine.plan(
                try LayoutTemplate.decode(file.utf8, name: "x"), participants: people(1), canvas: .landscape)
        }
        #expect(try scene("").panes.map(\.reconnecting) == [nil])
        #expect(try scene(#""reconnecting": "\#(Self.text)""#).panes.map(\.reconnecting) == [nil], "as usual")
        #expect(try scene(#""reconnecting": """#).panes.map(\.reconnecting) == [""])
        let words = #""params": {"words": {"type": "text", "default": "Gleich zurück"}},"#
        #expect(
            try scene(#""reconnecting": {"param": "words"}"#, params: words).panes.map(\.reconnecting)
                == ["Gleich zurück"])
        for wrong in ["1", "false", "\"\(String(repeating: "x", count: 257))\""] {
            let error = #expect(throws: LayoutError.self) { try scene("\"reconnecting\": \(wrong)") }
            #expect(error.map { "\($0)" }?.contains("a text of at most 256 bytes") == true)
        }
    }

    @Test func numbersOfAnySizeDoNoHarm() {
        for number in [Int.min, -1, 0, 1, 39, 32_768, Int.max] {
            let label = Label(text: "Ada", size: number, style: .pill)
            let pane = pane(number, number, label: label)
            _ = ParsedSVG(
                Self.card.svg(width: number, height: number, notice: Card.Notice(of: pane, height: number)))
            let notice = Card.Notice(text: Self.text, top: number, bottom: number)
            _ = ParsedSVG(Self.card.svg(width: 640, height: 360, notice: notice))
        }
        for name in difficultNames {
            _ = ParsedSVG(Card(name: name, user: "u").svg(width: 640, height: 360, notice: Card.Notice(text: name)))
        }
    }
}
