# Timelines as figures for print: fonts, texts, sizes, sameness, captions, wrong options.

load common

setup_file() {
    bats_require_minimum_version 1.5.0
}

poppler_or_skip() {
    command -v pdffonts >/dev/null || skip 'pdffonts is not here (Debian package poppler-utils)'
}

figure() {
    "$INFERGRID" simulate --quiet "$pbd" "$@" >/dev/null
}

@test "a PDF has its fonts within, its texts as texts, and the width of a column or a page" {
    poppler_or_skip
    figure --timeline page.pdf --timeline page.svg
    figure --timeline column.pdf --width column --window 5:15
    for file in page column; do
        equal "$(pdffonts $file.pdf | awk 'NR > 2 && $(NF - 4) != "yes"' | wc -l)" 0
        [ "$(pdffonts $file.pdf | wc -l)" -gt 2 ]
        equal "$(pdfinfo $file.pdf | awk '/^Pages/ { print $2 }')" 1
        contains "$(pdftotext -layout $file.pdf -)" 'time (s)'
        contains "$(pdftotext -layout $file.pdf -)" prefill
    done
    equal "$(pdfinfo page.pdf | awk '/^Page size/ { printf "%.0f", $3 * 25.4 / 72 }')" 180
    equal "$(pdfinfo column.pdf | awk '/^Page size/ { printf "%.0f", $3 * 25.4 / 72 }')" 88
    equal "$(ls)" $'column.pdf\ncolumn.txt\npage.pdf\npage.svg\npage.txt'
}

@test "an SVG is XML, with its texts of at least 6 points" {
    figure --timeline run.svg
    python3 - run.svg <<'PYTHON'
import sys
import xml.etree.ElementTree as tree
texts = tree.parse(sys.argv[1]).getroot().findall('.//{http://www.w3.org/2000/svg}text')
assert 'decode' in [text.text for text in texts], texts
assert min(float(text.get('font-size')) for text in texts) >= 6
PYTHON
}

@test "the same run gives the same figure, in every theme another" {
    for theme in colour grey hatch dark; do
        for suffix in pdf svg; do
            figure --timeline $theme.$suffix --theme $theme --force
            figure --timeline again-$theme.$suffix --theme $theme --force
            cmp $theme.$suffix again-$theme.$suffix
        done
        cmp $theme.txt again-$theme.txt
    done
    equal "$(cat colour.svg grey.svg hatch.svg dark.svg | grep -c '^<svg')" 4
    equal "$(sha256sum colour.svg grey.svg hatch.svg dark.svg | cut -d' ' -f1 | sort -u | wc -l)" 4
}

@test "figures of long runs stay small, and say what became of their lanes" {
    "$INFERGRID" simulate demo --quiet --json --timeline demo.pdf --timeline demo.svg >summary.json
    [ "$(stat -c %s demo.pdf)" -lt 1000000 ]
    [ "$(stat -c %s demo.svg)" -lt 1000000 ]
    caption=$(cat demo.txt)
    contains "$caption" 'llama-2-7b on MT-3000: prefill dp 6'
    contains "$caption" 'step grain, seed 1'
    contains "$caption" "Simulated time from 0 s to $(jq '.whole.makespan_s | floor' summary.json)."
    contains "$caption" 'KV migration is the mean of 6 lanes'
    contains "$caption" "Simulated by $("$INFERGRID" --version | head -n 1)."
}

@test "lanes stand under the pool that they belong to: ranks, wafers" {
    figure --timeline ranks.svg --ranks --lanes 'decode*' --window 5:6
    texts() {
        sed -n 's/^<text.*>\([^<]*\)<\/text>$/\1/p' "$1" | grep -m 1 -A 2 "$2"
    }
    equal "$(texts ranks.svg '^decode$')" $'decode\nstage 0 rank 0\nstage 0 rank 1'
    "$INFERGRID" simulate --quiet wafer --set workload.synthetic.requests=2 \
        --timeline wafer.svg >/dev/null
    equal "$(texts wafer.svg '^wafer$' | head -n 1)" wafer
}

@test "operators are drawn too, blocks and cores" {
    "$INFERGRID" operator gemm -M 512 -K 1024 -N 1024 --timeline gemm.svg --window '0.1 ms:0.2 ms' \
        >/dev/null
    contains "$(cat gemm.svg)" '>X2: X to SM<'
    contains "$(cat gemm.txt)" $'gemm on a cluster of MT-3000\nshape M 512, K 1024, N 1024, fp16'
    "$INFERGRID" operator allreduce --platform wse2 --grid 8 --elements 1024 --full \
        --timeline tree.svg --width column >/dev/null
    contains "$(cat tree.svg)" '>communicate<'
    contains "$(cat tree.txt)" 'Every one of the 64 lanes has a row.'
    "$INFERGRID" operator allreduce --platform wse2 --grid 64x2 --elements 4 --timeline row.svg \
        >/dev/null
    contains "$(cat row.svg)" '>core (60, 0)<'
    contains "$(cat row.txt)" 'Every one of the 64 lanes has a row.'
}

@test "wrong options of figures are told, and nothing is left" {
    touch there.pdf there.txt
    while IFS='|' read -r options message; do
        eval "infergrid simulate --quiet '$pbd' $options"
        equal "$status:$output" 2:
        # shellcheck disable=SC2053
        [[ $stderr == $message ]] || equal "$stderr" "$message"
        equal "$(ls -A)" $'there.pdf\nthere.txt'
        equal "$(cat there.pdf there.txt)" ''
    done <<'CASES'
--timeline run.pdf --theme gray|--theme: unknown theme 'gray' (did you mean 'grey'?); expected one of: colour, grey, hatch, dark
--timeline run.pdf --width 88mm|--width: unknown width '88mm'; expected one of: column, page
--timeline run.json --theme grey|infergrid simulate: option '--theme' needs '--timeline' with a .pdf or .svg file
--width page|infergrid simulate: option '--width' needs '--timeline' with a .pdf or .svg file
--timeline there.pdf|'there.pdf' exists (use --force to replace it)
--timeline there.svg|'there.txt' exists (use --force to replace it)
--timeline run.svg --lanes queue|--timeline: there is nothing to draw a figure of: no slice is in the window, on the lanes chosen
--timeline run.svg --window 900:|--window: it begins at 900 s, after the end at [0-9]*.[0-9]* s
CASES
}
