import LayoutEngine
import TestSupport
import Testing

struct GraphicSVGTests {
    @Test(arguments: difficultNames)
    func graphicsAreWellFormedWhateverTheTextIs(name: String) {
        let card = Card(name: name, user: name)
        for (width, height) in [(40, 40), (64, 300), (300, 64), (360, 640), (2000, 1200)] {
            let svg = card.svg(width: width, height: height)
            let parsed = ParsedSVG(svg)
            #expect(
                parsed.attributes.first?["width"] == "\(width)" && parsed.attributes.first?["height"] == "\(height)")
            #expect(svg == Card(name: name, user: name).svg(width: width, height: height))
            #expect(svg.utf8.count < 60_000)
        }
        for side in Label.Side.allCases {
            let label = Label(text: name, side: side, size: 20)
            let parsed = ParsedSVG(label.svg(width: 300))
            #expect(parsed.attributes.first?["height"] == "40" && label.height == 40)
        }
        for align in Pane.Alignment.allCases {
            let style = TextStyle(size: 20, isBold: true, align: align)
            let overlay = Overlay(id: "a", x: 0, y: 0, width: 200, height: 80, content: .text(name, style))
            _ = ParsedSVG(overlay.svg(time: 0) ?? "")
        }
    }

    @Test func numbersOfAnySizeDoNoHarm() {
        let numbers = [Int.min, -1, 0, 1, 2, 39, 32_768, Int.max]
        for width in numbers {
            for height in numbers {
                _ = ParsedSVG(Card(name: "Ada", user: "a").svg(width: width, height: height))
                let label = Label(text: "Ada", size: height)
                _ = ParsedSVG(label.svg(width: width))
                let style = TextStyle(size: height, background: .black)
                let overlay = Overlay(
                    id: "a", x: width, y: height, width: width, height: height,
                    content: .clock(.dateAndTime, utcOffset: width, style))
                _ = ParsedSVG(overlay.svg(time: height) ?? "")
                let pane = Pane(
                    source: "a/camera", user: "a", x: width, y: height, width: width, height: height,
                    border: .init(width: width, colour: .white), label: label)
                let scene = Scene(
                    canvas: Canvas(width: width, height: height, fps: 20), background: .init(image: "x"), panes: [pane],
                    overlays: [overlay])
                _ = ParsedSVG(scene.svg(time: width))
                _ = ParsedSVG(SceneSheet([.init(title: "a", scene: scene)]).svg())
            }
        }
    }

    @Test func cardShowsInitialsAndNameAsFarAsTheyCanBeRead() {
        let card = Card(name: "Ada Lovelace", user: "ada")
        #expect(ParsedSVG(card.svg(width: 360, height: 640)).texts == ["AL", "Ada Lovelace"])
        #expect(ParsedSVG(card.svg(width: 240, height: 60)).texts == ["AL", "Ada Lovelace"])
        #expect(ParsedSVG(card.svg(width: 40, height: 40)).texts == ["AL"])
        #expect(ParsedSVG(card.svg(width: 90, height: 160)).texts == ["AL", "Ada Lovelace"])
        let long = Card(name: "Ada King-Lovelace", user: "a")
        #expect(ParsedSVG(long.svg(width: 90, height: 160)).texts[1] == "Ada King-Lo…")
        // Without letters, the card shows a silhouette of a head and shoulders.
        let party = ParsedSVG(Card(name: "🎉🎉", user: "p").svg(width: 360, height: 640))
        #expect(party.texts == ["🎉🎉"] && party.elements.contains("path"))
        #expect(ParsedSVG(Card(name: "", user: "p").svg(width: 360, height: 640)).texts == [])
    }

    /// Initials and name are inside the card, apart from each other, and at least 11 pixels high.
    @Test func cardIsLegibleAtEverySize() throws {
        let card = Card(name: "Ada Lovelace", user: "ada")
        for width in stride(from: 40, through: 2000, by: 28) {
            for height in stride(from: 40, through: 2000, by: 28) {
                let parsed = ParsedSVG(card.svg(width: width, height: height))
                let texts = zip(parsed.elements, parsed.attributes).filter { $0.0 == "text" }.map(\.1)
                let circle = try #require(zip(parsed.elements, parsed.attributes).first { $0.0 == "circle" }?.1)
                let number = { (attributes: [String: String], name: String) in Double(attributes[name] ?? "") ?? -1 }
                let (x, y, radius) = (number(circle, "cx"), number(circle, "cy"), number(circle, "r"))
                let comment: Comment = "\(width)×\(height)"
                #expect(radius >= 7 && x - radius >= 0 && y - radius >= 0, comment)
                #expect(x + radius <= Double(width) && y + radius <= Double(height), comment)
                #expect(texts.allSatisfy { number($0, "font-size") >= 11 }, comment)
                guard texts.count == 2 else { continue }
                let (baseline, size) = (number(texts[1], "y"), number(texts[1], "font-size"))
                #expect(baseline + size / 4 <= Double(height), comment)
                let isBelow = baseline - size * 0.75 >= y + radius
                let isBeside = number(texts[1], "x") >= x + radius && texts[1]["text-anchor"] == "start"
                #expect(isBelow || isBeside, comment)
            }
        }
    }

    @Test func labelStandsOnItsSide() {
        for (side, x, anchor) in [(Label.Side.left, "15", "start"), (.centre, "200", "middle"), (.right, "385", "end")]
        {
            let parsed = ParsedSVG(Label(text: "Ada", side: side, size: 20, colour: .white).svg(width: 400))
            #expect(parsed.attributes.last?["x"] == x && parsed.attributes.last?["text-anchor"] == anchor)
            #expect(parsed.attributes.last?["fill"] == "#FFFFFF")
            #expect(parsed.attributes[1]["fill-opacity"] == "0.500000" && parsed.attributes[1]["fill"] == "#000000")
        }
        // Letters without a background get an outline of the opposite brightness.
        let bare = Label(text: "Ada", size: 20, colour: .black, backgroundOpacity: .zero)
        let parsed = ParsedSVG(bare.svg(width: 400))
        #expect(parsed.elements == ["svg", "text"] && parsed.attributes[1]["stroke"] == "#FFFFFF")
    }

    @Test func overlayShowsItsText() {
        let style = TextStyle(size: 20, isBold: true, align: .bottomRight, background: .black)
        let text = Overlay(
            id: "t", x: 0, y: 0, width: 200, height: 60, content: .text("Live from Berlin & Munich", style))
        #expect(ParsedSVG(text.svg(time: 0) ?? "").texts == ["Live from Berlin", "& Munich"])
        let clock = Overlay(
            id: "c", x: 0, y: 0, width: 200, height: 60, content: .clock(.minutes, utcOffset: 60, style))
        #expect(ParsedSVG(clock.svg(time: 0) ?? "").texts == ["01:00"])
        let image = Overlay(id: "i", x: 0, y: 0, width: 200, height: 60, content: .image("logo.png", align: .centre))
        #expect(image.svg(time: 0) == nil)
    }
}
